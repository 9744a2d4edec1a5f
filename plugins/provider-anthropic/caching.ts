/** Selects the parts of a request that the server should cache for the next request. Pure. */
import type { ContentBlockParam, TextBlockParam, Tool } from "@anthropic-ai/sdk/resources/messages";

/** The cache lasts five minutes, the API's default. */
const KEEP = { type: "ephemeral" } as const;

/** A message with blocks, never with a plain string as content. */
export interface BlockMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlockParam[];
}

interface Cacheable {
  readonly tools: Tool[];
  readonly system: TextBlockParam[];
  readonly messages: BlockMessage[];
}

/**
 * Sets `cache_control` at the ends of the stable parts: tools, system prompt, and the last two user messages. The API
 * accepts four of them. The former request ended at the second to last user message, so that its part is read from the
 * cache.
 */
export function markForCache({ tools, system, messages }: Cacheable): Cacheable {
  const users = messages.filter(({ role }) => role === "user").slice(-2);
  return {
    tools: markLast(tools),
    system: markLast(system),
    messages: messages.map((message) =>
      users.includes(message) ? { ...message, content: markLast(message.content) } : message,
    ),
  };
}

/** Sets `cache_control` on user blocks, the system prompt and tools only: thinking blocks must not have it. */
function markLast<T extends object>(items: readonly T[]): T[] {
  return items.map((item, index) => (index === items.length - 1 ? { ...item, cache_control: KEEP } : item));
}

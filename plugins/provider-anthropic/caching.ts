/** Marks the parts of a request that the server should cache for the next one. Pure. */
import type { ContentBlockParam, TextBlockParam, Tool } from "@anthropic-ai/sdk/resources/messages";

/** Five minutes, the API's default. */
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
 * Marks the ends of the stable parts: tools, system prompt, and the last two user messages. The API accepts four marks; the
 * mark on the second to last user message is where the former request ended, so that its part is read from the cache.
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

/** Used for user blocks, the system prompt and tools only, since thinking blocks cannot be marked. */
function markLast<T extends object>(items: readonly T[]): T[] {
  return items.map((item, index) => (index === items.length - 1 ? { ...item, cache_control: KEEP } : item));
}

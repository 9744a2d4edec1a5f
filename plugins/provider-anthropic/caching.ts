/** Which parts of a question the server should keep for the next one. Pure. */
import type { ContentBlockParam, TextBlockParam, Tool } from "@anthropic-ai/sdk/resources/messages";

/** Five minutes, the API's default. */
const KEEP = { type: "ephemeral" } as const;

/** A message with its blocks; never the short form with a plain string. */
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
 * Marks the ends of what stays the same: the tools, the system prompt, and the last two messages of the user. The API
 * takes four marks; the one on the message before last is where the former question ended, so its part is read back.
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

/** Only blocks of the user, the system prompt and tools are marked: thoughts take no mark. */
function markLast<T extends object>(items: readonly T[]): T[] {
  return items.map((item, index) => (index === items.length - 1 ? { ...item, cache_control: KEEP } : item));
}

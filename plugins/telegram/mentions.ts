/** Whether a text addresses the bot. Pure. */
import type { MessageEntity } from "grammy/types";

/** Identity of the bot. */
export interface Bot {
  readonly id: number;
  /** Without `@`. */
  readonly username: string;
}

/** The text without a leading mention, and with `/command@bot` as `/command`. */
export function addressed(
  text: string,
  entities: readonly MessageEntity[],
  bot: Bot,
): { readonly text: string; readonly isMentioned: boolean } {
  const handle = `@${bot.username}`.toLowerCase();
  const own = entities.filter((entity) => {
    const word = text.slice(entity.offset, entity.offset + entity.length).toLowerCase();
    if (entity.type === "mention") return word === handle;
    if (entity.type === "bot_command") return word.endsWith(handle);
    return entity.type === "text_mention" && entity.user.id === bot.id;
  });
  const first = own.find(({ type, offset }) => type !== "bot_command" && text.slice(0, offset).trim() === "");
  const rest = first ? text.slice(first.offset + first.length).replace(/^[\s,:]+/, "") : text;
  return { text: leadingCommand(rest, handle), isMentioned: own.length > 0 };
}

function leadingCommand(text: string, handle: string): string {
  const [whole, command, name] = /^(\/\w+)(@\w+)(?!\S)/.exec(text) ?? [];
  if (whole === undefined || command === undefined || name?.toLowerCase() !== handle) return text;
  return command + text.slice(whole.length);
}

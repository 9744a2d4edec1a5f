/** How a conversation looks in a terminal. Pure. */
import { visibleLines } from "@svc/sdk/cli";

/** How text is set off; plain when the output is no terminal. */
export interface Style {
  dim(text: string): string;
}

export const PLAIN: Style = { dim: (text) => text };
export const ANSI: Style = { dim: (text) => `\u001B[2m${text}\u001B[22m` };

/**
 * Turns the texts of a growing reply into what is to be printed of each: the new end, or all of it on a new line
 * when it starts over, as it does after a tool was used.
 */
export function createPrinter() {
  let printed = "";
  let midLine = false;
  /** A line feed when the last line is not ended. */
  const lineEnd = (): string => {
    const end = midLine ? "\n" : "";
    midLine = false;
    return end;
  };
  return {
    lineEnd,
    /** @param text all of the reply so far */
    next(text: string): string {
      const goesOn = text.startsWith(printed);
      const part = goesOn ? text.slice(printed.length) : lineEnd() + text;
      printed = text;
      if (part !== "") midLine = !part.endsWith("\n");
      return part;
    },
  };
}

/** Lines for `chat.history` messages, oldest first: who, then what; tool calls in one dim line each. */
export function historyLines(messages: readonly unknown[], style: Style): string[] {
  return messages.flatMap((message) => {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown }; // any JSON may stand here
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : asArray(content);
    if (role === "toolResult") return [];
    const who = role === "user" ? "you" : role === "assistant" ? "agent" : String(role);
    return blocks.flatMap((block) => blockLines(who, block as Record<string, unknown>, style));
  });
}

function blockLines(who: string, block: Record<string, unknown>, style: Style): string[] {
  const text = stringOr(block["text"], "");
  if (block["type"] === "text" && text !== "") return [`${style.dim(`${who}:`)} ${text}`];
  if (block["type"] === "toolCall") return [style.dim(`  tool ${stringOr(block["name"], "?")}`)];
  if (block["type"] === "image") return [style.dim(`${who}: [image]`)];
  return [];
}

function stringOr(value: unknown, missing: string): string {
  return typeof value === "string" ? visibleLines(value) : missing;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** One line for a step of the `tool` stream, or nothing for steps that say no more than the one before. */
export function toolLine(data: Readonly<Record<string, unknown>>): string | undefined {
  const name = stringOr(data["name"], "?");
  if (data["phase"] === "start") return `tool ${name}`;
  if (data["phase"] === "result" && data["isError"] === true) return `tool ${name} failed`;
  return undefined;
}

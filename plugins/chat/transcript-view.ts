/** Formats a conversation for a terminal. Pure. */
import { visibleLines } from "@svc/sdk/cli";

/** Highlights text; plain if the output is not a terminal. */
export interface Style {
  dim(text: string): string;
}

export const PLAIN: Style = { dim: (text) => text };
export const ANSI: Style = { dim: (text) => `\u001B[2m${text}\u001B[22m` };

/**
 * Turns the texts of a growing reply into the part to print: the new end, or the whole text on a new line
 * when it starts over, as it does after a tool call.
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
    /** @param text the whole reply so far */
    next(text: string): string {
      const goesOn = text.startsWith(printed);
      const part = goesOn ? text.slice(printed.length) : lineEnd() + text;
      printed = text;
      if (part !== "") midLine = !part.endsWith("\n");
      return part;
    },
  };
}

/** Lines for `chat.history` messages, oldest first: sender and text; each tool call in one dim line. */
export function historyLines(messages: readonly unknown[], style: Style): string[] {
  return messages.flatMap((message) => {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown }; // any JSON is possible here
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

/** One line for an event of the `tool` stream; `undefined` for events without news. */
export function toolLine(data: Readonly<Record<string, unknown>>): string | undefined {
  const name = stringOr(data["name"], "?");
  if (data["phase"] === "start") return `tool ${name}`;
  if (data["phase"] === "result" && data["isError"] === true) return `tool ${name} failed`;
  return undefined;
}

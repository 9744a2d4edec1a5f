/** Finds the position at which a text stops being JSON; the runtime's own message often omits it. */

import { visible } from "@svc/sdk/cli";

type Expected = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end" | "nothing";

const BLANKS = /[ \t\n\r]*/y;
const TOKEN = /[{}[\],:]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
// oxlint-disable-next-line no-control-regex -- a JSON string contains no control characters
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** @returns offset of the first unexpected token, the length of the text if it ends too early, or `undefined` for valid JSON */
export function firstBadPlace(text: string): number | undefined {
  const open: string[] = [];
  let expected: Expected = "value";
  let at = 0;
  for (;;) {
    at = endOf(BLANKS, text, at) ?? at;
    if (at === text.length) return expected === "nothing" ? undefined : at;
    const { end, bad } = text[at] === '"' ? stringAt(text, at) : { end: endOf(TOKEN, text, at), bad: at };
    const next = after(text.slice(at, at + 1), expected, open);
    if (!next) return at;
    if (end === undefined) return bad;
    expected = next;
    at = end;
  }
}

/** A loop, because one pattern for a whole long string is too much for the regex engine. */
function stringAt(text: string, start: number): { readonly end?: number; readonly bad: number } {
  let at = start + 1;
  for (;;) {
    at = endOf(PLAIN, text, at) ?? at;
    if (text[at] === '"') return { end: at + 1, bad: at };
    const end = endOf(ESCAPE, text, at);
    if (end === undefined) return { bad: at };
    at = end;
  }
}

/** What may follow a token of this kind, or `undefined` if the token is not allowed here. Updates `open`. */
function after(kind: string, expected: Expected, open: string[]): Expected | undefined {
  const closed = () => (open.length === 0 ? "nothing" : ", or end");
  if (kind === "}" || kind === "]") {
    const empty = expected === (kind === "}" ? "key or }" : "value or ]");
    const matches = open.at(-1) === (kind === "}" ? "{" : "[");
    if (!matches || (!empty && expected !== ", or end")) return undefined;
    open.pop();
    return closed();
  }
  if (kind === ",") return expected !== ", or end" ? undefined : open.at(-1) === "{" ? "key" : "value";
  if (kind === ":") return expected === ":" ? "value" : undefined;
  if (expected === "key" || expected === "key or }") return kind === '"' ? ":" : undefined;
  if (expected !== "value" && expected !== "value or ]") return undefined;
  if (kind !== "{" && kind !== "[") return closed();
  open.push(kind);
  return kind === "{" ? "key or }" : "value or ]";
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** `line 3, column 14: "x"`; both count from 1, columns in UTF-16 units. */
export function describePlace(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  const char = text.codePointAt(offset);
  if (char === undefined) return `${place}, where the text ends`;
  return `${place}: ${visible(JSON.stringify(String.fromCodePoint(char)))}`;
}

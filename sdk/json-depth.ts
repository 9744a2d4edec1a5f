/** Nesting depth of JSON, counted in its text: recursion over a deeply nested value would exhaust the stack. */
import { invalidRequest, messageOf } from "./gateway-error.ts";

/** Choice: no legitimate message is nested deeper. */
export const MAX_JSON_DEPTH = 200;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Whether lists and objects in JSON text are nested deeper than 200 levels. Counts brackets outside strings in one
 * pass; the result is meaningless for text that is not JSON. Choice: runs before parsing, because walking the parsed
 * value takes up to 17 times as long.
 */
export function isTooDeep(json: string): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfText(json, at);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses the body of a request; `{}` for an empty one.
 * @throws GatewayError `INVALID_REQUEST`: not UTF-8, nested too deep, or not JSON, with the message of the parser
 */
export function parseJsonBody(raw: Uint8Array): unknown {
  if (raw.byteLength === 0) return {};
  const text = textOf(raw);
  if (isTooDeep(text)) invalidRequest(`the body is nested deeper than ${MAX_JSON_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch (error) {
    return invalidRequest(`the request body is not JSON: ${messageOf(error)}`);
  }
}

function textOf(raw: Uint8Array): string {
  try {
    return UTF_8.decode(raw);
  } catch {
    return invalidRequest("the body is not UTF-8");
  }
}

/** Index of the closing quote; the length of the text if there is none. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

/** What JSON from outside costs to parse, before it is parsed. */

/** Smaller messages are parsed without a look. */
const LOOK_ABOVE_BYTES = 262_144;
/** Choice: values in one message. More of them hold everybody up for longer than 50 ms; texts cost next to nothing, however long. */
export const MAX_VALUES = 200_000;

const [QUOTE, BACKSLASH, COMMA, ARRAY, OBJECT] = Buffer.from('"\\,[{');

/** Whether JSON text holds more values than a message may. Texts are not looked into. */
export function holdsTooMuch(json: Buffer): boolean {
  if (json.length <= LOOK_ABOVE_BYTES) return false;
  let values = 1;
  let inText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (inText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if ((byte === COMMA || byte === ARRAY || byte === OBJECT) && ++values > MAX_VALUES) return true;
  }
  return false;
}

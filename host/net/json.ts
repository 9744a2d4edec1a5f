/** JSON from outside: how much of it a message may hold, and large messages read in turns. */
import { Turns } from "@svc/sdk";

/** Smaller messages are parsed at once, without a look. */
const LARGE_BYTES = 262_144;
/** Bytes that are looked at and decoded in one turn: about 5 ms. */
const SLICE_BYTES = 524_288;
/** Choice: what one message may hold. An array, an object and each of their elements count 1, a key 3: a dictionary of many keys is dear. */
const MAX_VALUES = 200_000;
const KEY_VALUES = 3;
/** Bytes of numbers and white space for each value at most, on average: a number of millions of digits is dear, too. */
const PLAIN_BYTES = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const ARRAY = 0x5b;
const OBJECT = 0x7b;

/** A message holds more than can be parsed without holding everybody up. */
export class HoldsTooMuch extends Error {
  constructor() {
    super(
      `a message holds at most ${MAX_VALUES} values and ${MAX_VALUES * PLAIN_BYTES} bytes of numbers and white space; send less at a time`,
    );
  }
}

export function isLarge(json: Uint8Array): boolean {
  return json.length > LARGE_BYTES;
}

const parsing = new Turns();

/**
 * Parses a large message. Texts cost next to nothing, however long. One is parsed at a time: each takes several times its size.
 * @param turn lets others have their turn
 * @throws SyntaxError; HoldsTooMuch
 */
export function parseLarge(json: Buffer, turn: () => Promise<void>): Promise<unknown> {
  return parsing.take("large", () => parseInTurns(json, turn));
}

async function parseInTurns(json: Buffer, turn: () => Promise<void>): Promise<unknown> {
  const count = valueCounter();
  let text = "";
  for (let from = 0; from < json.length;) {
    const to = wholeCharacters(json, from + SLICE_BYTES);
    if (count(json, from, to) > MAX_VALUES) throw new HoldsTooMuch();
    text += json.toString("utf8", from, to);
    from = to;
    await turn();
  }
  return JSON.parse(text);
}

/** @returns an end that no character lies across */
function wholeCharacters(utf8: Uint8Array, end: number): number {
  if (end >= utf8.length) return utf8.length;
  for (let to = end; to > end - 4; to--) if (((utf8[to] ?? 0) & 0xc0) !== 0x80) return to;
  return end; // it is no UTF-8
}

/** Counts the values in JSON text that comes in slices. Texts are not looked into. */
function valueCounter(): (json: Uint8Array, from: number, to: number) => number {
  let values = 1;
  let plain = 0;
  let inText = false;
  let isEscaped = false;
  return (json, from, to) => {
    for (let at = from; at < to; at++) {
      const byte = json[at];
      if (isEscaped) isEscaped = false;
      else if (inText) {
        if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === COLON) values += KEY_VALUES;
      else if (byte === COMMA || byte === ARRAY || byte === OBJECT) values++;
      else plain++;
    }
    return Math.max(values, plain / PLAIN_BYTES);
  };
}

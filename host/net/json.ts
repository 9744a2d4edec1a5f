/** JSON from clients: limits the values per message, and reads large messages in slices. */
import { Turns } from "@svc/sdk";

/** Smaller messages are parsed at once, without counting their values. */
const LARGE_BYTES = 262_144;
/** Bytes counted and decoded per turn: about 5 ms. */
const SLICE_BYTES = 524_288;
/**
 * Choice: maximum number of values per message. An array, an object and each of their elements count 1, a key 3: an
 * object of many keys is expensive.
 */
const MAX_VALUES = 200_000;
const KEY_VALUES = 3;
/** Bytes of numbers and white space that count as one value: a number of millions of digits is expensive, too. */
const PLAIN_BYTES = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const ARRAY = 0x5b;
const OBJECT = 0x7b;

/** The message holds more than the gateway can parse without blocking its other clients. */
export class HoldsTooMuch extends Error {
  constructor() {
    super(
      `a message holds at most ${MAX_VALUES} values and ${MAX_VALUES * PLAIN_BYTES} bytes of numbers and white space; send smaller messages`,
    );
  }
}

export function isLarge(json: Uint8Array): boolean {
  return json.length > LARGE_BYTES;
}

const parsing = new Turns();

/**
 * Parses a large message. Strings of any length cost almost nothing. Messages are parsed one at a time, because each needs several times its size in memory.
 * @param turn yields to other connections
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

/** @returns an end that splits no character */
function wholeCharacters(utf8: Uint8Array, end: number): number {
  if (end >= utf8.length) return utf8.length;
  for (let to = end; to > end - 4; to--) if (((utf8[to] ?? 0) & 0xc0) !== 0x80) return to;
  return end; // not UTF-8
}

/** Counts the values in JSON text that arrives in slices. The contents of strings are ignored. */
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

/** Fuzz inputs: structured ones that are nearly valid, and random bytes. */
import * as fc from "fast-check";

const HOSTILE_KEYS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "", "\0", "a.b", "$ref"];
const HOSTILE_TEXTS = [
  "",
  " ",
  "*",
  "null",
  "__proto__",
  "../../etc/passwd",
  "\0",
  "\ud800",
  "agent:main:main",
  "agent::",
  "a".repeat(5_000),
  "${HOME}",
  "%2e%2e%2f",
  "𝔘𝔫𝔦",
];

/** Random JSON, with problematic keys and texts over-represented. */
export const hostileJson = (keys: readonly string[]) =>
  fc.letrec<{ value: unknown; text: string }>((tie) => ({
    text: fc.oneof(
      fc.constantFrom(...HOSTILE_TEXTS),
      fc.string({ maxLength: 40 }),
      fc.string({ unit: "binary", maxLength: 8 }),
    ),
    value: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      fc.constantFrom(null, true, false, 0, -1, 1e308, -0, 2 ** 53, Number.MIN_VALUE),
      fc.integer(),
      tie("text"),
      fc.array(tie("value"), { maxLength: 4 }),
      fc
        .array(
          fc.tuple(fc.oneof(fc.constantFrom(...keys, ...HOSTILE_KEYS), fc.string({ maxLength: 6 })), tie("value")),
          {
            maxLength: 5,
          },
        )
        .map((entries) => jsonObject(entries)),
    ),
  })).value;

/** Creates an own key `__proto__` as JSON.parse does, not a prototype. */
function jsonObject(entries: readonly (readonly [string, unknown])[]): unknown {
  const object = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

/** Request frames for these methods: valid, nearly valid, and invalid. */
export function frames(methods: readonly string[], keys: readonly string[]): fc.Arbitrary<unknown> {
  const params = hostileJson(keys);
  const method = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...methods) },
    { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
  );
  const request = fc.record(
    { type: fc.constant("req"), id: fc.uuid(), method, params },
    { requiredKeys: ["type", "id", "method"] },
  );
  const bent = fc
    .tuple(request, fc.constantFrom("type", "id", "method", "extra"), params)
    .map(([frame, key, value]) => ({ ...frame, [key]: value }));
  return fc.oneof({ weight: 6, arbitrary: request }, { weight: 3, arbitrary: bent }, { weight: 1, arbitrary: params });
}

/** Mutates a few bytes of a valid input: flips, cuts, duplicates, inserts. */
export const mutation = fc.array(
  fc.record({
    kind: fc.constantFrom("flip", "cut", "double", "insert", "set"),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 1, max: 24 }),
    byte: fc.integer({ min: 0, max: 255 }),
  }),
  { minLength: 1, maxLength: 5 },
);

export type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

export function mutate(bytes: Buffer, steps: Mutation): Buffer {
  let result = bytes;
  for (const { kind, at, length, byte } of steps) {
    const place = Math.min(result.length, Math.floor(at * result.length));
    const [head, tail] = [result.subarray(0, place), result.subarray(place)];
    if (kind === "flip" && place < result.length) {
      result = Buffer.from(result);
      result[place] = (result[place] ?? 0) ^ (1 << (byte % 8));
    } else if (kind === "set" && place < result.length) {
      result = Buffer.from(result);
      result[place] = byte;
    } else if (kind === "cut") result = Buffer.concat([head, tail.subarray(length)]);
    else if (kind === "double") result = Buffer.concat([head, tail.subarray(0, length), tail]);
    else result = Buffer.concat([head, Buffer.alloc(length, byte), tail]);
  }
  return result;
}

/** A request for HTTP, of which each part may be wrong. */
export interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** @param first headers before those of the request, each with its line end */
export function requestBytes({ method, path, headers, body }: RequestParts, first: string): Buffer {
  const hasLength = headers.some((line) => /^(content-length|transfer-encoding)/i.test(line));
  const lines = [...headers, ...(hasLength ? [] : [`Content-Length: ${Buffer.byteLength(body)}`])];
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${first}`;
  return Buffer.from(`${head}${lines.map((line) => `${line}\r\n`).join("")}\r\n${body}`);
}

const MASK = Buffer.from([0x11, 0x22, 0x33, 0x44]);

/** A masked WebSocket frame, as clients send it. */
export function clientFrame(payload: Buffer, opcode = 1): Buffer {
  const { length } = payload;
  const extended = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
  if (extended.length === 2) extended.writeUInt16BE(length);
  else if (extended.length === 8) extended.writeBigUInt64BE(BigInt(length));
  const size = { 0: length, 2: 126, 8: 127 }[extended.length] ?? 0;
  const head = Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | size]), extended]);
  const masked = Buffer.from(payload);
  for (let index = 0; index < length; index++) masked[index] = (masked[index] ?? 0) ^ (MASK[index % 4] ?? 0);
  return Buffer.concat([head, MASK, masked]);
}

export const UPGRADE = Buffer.from(
  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
);

/** Prepared requests: a ring of masked frames with ids of equal length, sliced from one buffer when sent. */
import { clientFrame } from "./frames.ts";

/** Requests in a ring: the maximum in flight on one socket. */
export const RING_SIZE = 2_048;
const FIRST_ID = 1_000;
const ID_AT = '{"type":"res","id":"'.length;
const OK_AT = ID_AT + '1000","ok":'.length;
const TRUE = "t".charCodeAt(0);
const ZERO = "0".charCodeAt(0);
/** Where `res` and `event` first differ: `{"type":"r`, `{"type":"e`. */
const KIND_AT = '{"type":"'.length;
const RES = "r".charCodeAt(0);

/** The same call repeatedly, with changing ids. */
export interface Requests {
  /** `count` requests from number `from` on, in at most two buffers. */
  take(from: number, count: number): Buffer[];
}

export function makeRequests(method: string, params: unknown = {}): Requests {
  const frames = Array.from({ length: RING_SIZE }, (_, index) =>
    clientFrame(JSON.stringify({ type: "req", id: `${FIRST_ID + index}`, method, params })),
  );
  const size = frames[0]?.length ?? 0;
  const all = Buffer.concat(frames);
  return {
    take(from, count) {
      const first = from % RING_SIZE;
      const last = first + count;
      if (last <= RING_SIZE) return [all.subarray(first * size, last * size)];
      return [all.subarray(first * size), all.subarray(0, (last - RING_SIZE) * size)];
    },
  };
}

/**
 * Position in the ring of the request that a frame responds to, or -1 for an event.
 * @throws Error the response is a refusal: a benchmark of errors measures nothing
 */
export function answeredBy(buffer: Buffer, start: number, end: number): number {
  if (buffer[start + KIND_AT] !== RES) return -1;
  if (buffer[start + OK_AT] !== TRUE)
    throw new Error(`a server refused: ${buffer.toString("utf8", start, Math.min(end, start + 300))}`);
  const digit = (place: number) => (buffer[start + ID_AT + place] ?? 0) - ZERO;
  return digit(0) * 1_000 + digit(1) * 100 + digit(2) * 10 + digit(3) - FIRST_ID;
}

/** Reads frames of `application/vnd.amazon.eventstream` in bounded memory; the library checks and decodes each frame. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { refuseAnswer } from "@svc/kit/providers";
import { lazy } from "@svc/sdk";

/** Choice: maximum bytes of a frame, as for server-sent events; the servers send a few hundred. */
export const MAX_FRAME_BYTES = 1_000_000;
/** Choice: bytes processed before yielding to other work of the process; about 1 ms. */
const TURN_BYTES = 16_384;
/** Length, header length, two checksums. */
const MIN_FRAME_BYTES = 16;

/** One frame. */
export interface Frame {
  /** E.g. `:event-type`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
}

const library = lazy(() => import("@smithy/eventstream-codec"));

/**
 * Yields the frames of a body; closes the connection if the reader stops early.
 * @param source name of the account, for error messages
 * @throws GatewayError `UNAVAILABLE` for data that is not in this format, a wrong checksum, a frame of more than 1,000,000
 *   bytes, and a body that ends inside a frame; errors of the connection
 */
export async function* framesOf({ body }: Pick<Response, "body">, source: string): AsyncGenerator<Frame, void, void> {
  const { EventStreamCodec } = await library();
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  const codec = new EventStreamCodec(
    (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
    (text) => encoder.encode(text),
  );
  let sinceTurn = 0;
  for await (const bytes of wholeFrames(body, source)) {
    sinceTurn += bytes.length;
    if (sinceTurn >= TURN_BYTES) {
      sinceTurn = 0;
      await nextTurn();
    }
    let frame: Frame;
    try {
      const { headers, body: payload } = codec.decode(bytes);
      const texts = Object.entries(headers).map(([name, { value }]) => [name, String(value)] as const);
      frame = { headers: Object.fromEntries(texts), payload: decoder.decode(payload) };
    } catch {
      return refuseAnswer("server_error", `${source} sent a damaged event (wrong checksum or headers); try again`);
    }
    yield frame;
  }
}

/** The bytes of each frame. A chunk is copied once, however small the chunks are. */
async function* wholeFrames(body: Response["body"], source: string): AsyncGenerator<Uint8Array, void, void> {
  let parts: Uint8Array[] = [];
  let held = 0;
  /** Bytes to wait for: the length of the frame, once it is known. */
  let needed = 4;
  for await (const chunk of body ?? []) {
    parts.push(chunk);
    held += chunk.length;
    if (held < needed) continue;
    let rest: Uint8Array = Buffer.concat(parts);
    needed = lengthOf(rest, source);
    while (rest.length >= needed) {
      yield rest.subarray(0, needed);
      rest = rest.subarray(needed);
      needed = rest.length < 4 ? 4 : lengthOf(rest, source);
      if (needed === 4) break;
    }
    parts = rest.length > 0 ? [rest] : [];
    held = rest.length;
  }
  if (held > 0) refuseAnswer("network", `${source} disconnected in the middle of its answer; try again`);
}

/** The announced length of the frame at the start of `bytes`. */
function lengthOf(bytes: Uint8Array, source: string): number {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
  if (length >= MIN_FRAME_BYTES && length <= MAX_FRAME_BYTES) return length;
  return refuseAnswer(
    "server_error",
    `${source} sent data that is no event stream, or an event of more than ${MAX_FRAME_BYTES} bytes; is its baseUrl correct?`,
  );
}

/** Cheap WebSocket framing, so that the load generator is not the bottleneck. Pure. */

/** A real mask: servers skip the work for a zero one. RFC 6455 §5.3 asks for randomness against proxies; there are none. */
const MASK = [0x37, 0xfa, 0x21, 0x3d] as const;

const OPCODE_CLOSE = 0x8;

/** A masked text frame, as a client sends it; at most 65,535 bytes of text. */
export function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const header = length < 126 ? [0x81, 0x80 | length] : [0x81, 0x80 | 126, length >> 8, length & 0xff];
  for (const [index, byte] of payload.entries()) payload[index] = byte ^ (MASK[index & 3] ?? 0);
  return Buffer.concat([Buffer.from([...header, ...MASK]), payload]);
}

/** Receives the payload of a text frame: bytes `start` to `end` of `buffer`, valid only during the call. */
export type FrameListener = (buffer: Buffer, start: number, end: number) => void;

/** Splits a stream of server frames into payloads. Skips control frames other than close. */
export class FrameReader {
  #rest: Buffer | undefined;

  /** @returns false when the server closed. */
  read(chunk: Buffer, onFrame: FrameListener): boolean {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = undefined;
    let at = 0;
    while (at < bytes.length) {
      const start = payloadStart(bytes, at);
      const end = start + payloadLength(bytes, at, start);
      if (!(end <= bytes.length)) break; // NaN for an incomplete header
      const opcode = (bytes[at] ?? 0) & 0x0f;
      if (opcode === OPCODE_CLOSE) return false;
      if (opcode === 1) onFrame(bytes, start, end);
      at = end;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
    return true;
  }
}

function payloadStart(bytes: Buffer, at: number): number {
  const short = bytes[at + 1];
  if (short === undefined) return Number.NaN;
  return at + (short < 126 ? 2 : short === 126 ? 4 : 10);
}

function payloadLength(bytes: Buffer, at: number, start: number): number {
  if (!(start <= bytes.length)) return Number.NaN;
  const short = bytes[at + 1] ?? 0;
  if (short < 126) return short;
  return short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
}

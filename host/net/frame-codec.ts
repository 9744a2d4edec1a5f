/** Frames to bytes. One text frame is one buffer, so that many receivers can share it and one write can carry many. */
import type { ErrorShape, EventFrame, StateVersion } from "@svc/sdk";

const FINAL_TEXT = 0x81;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** An unmasked WebSocket text frame, as a server sends it. RFC 6455 §5.2. */
export function encodeTextFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const header = length < LENGTH_16 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(header + length);
  frame[0] = FINAL_TEXT;
  if (header === 2) frame[1] = length;
  else if (header === 4) {
    frame[1] = LENGTH_16;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = LENGTH_64;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, header);
  return frame;
}

/** `undefined` payloads are left out: a key is present or absent, never null by accident. */
export function encodeEvent(event: string, payload: unknown, seq?: number, stateVersion?: StateVersion): Buffer {
  const frame: EventFrame = { type: "event", event, payload };
  if (seq !== undefined) frame.seq = seq;
  if (stateVersion !== undefined) frame.stateVersion = stateVersion;
  return encodeTextFrame(JSON.stringify(frame));
}

export function encodeResult(id: string, payload: unknown): Buffer {
  return encodeTextFrame(JSON.stringify({ type: "res", id, ok: true, payload }));
}

export function encodeFailure(id: string, error: ErrorShape, payload?: unknown): Buffer {
  return encodeTextFrame(JSON.stringify({ type: "res", id, ok: false, payload, error }));
}

/** Close reasons are cut to 120 bytes, never inside a character. Spec: protocol/frames-and-connect.md §5. */
export function closeReason(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= 120 ? text : bytes.subarray(0, 120).toString().replace(/�+$/, "");
}

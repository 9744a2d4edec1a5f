/** Encodes frames. A text frame is one buffer, so that many receivers can share it and one write can carry many frames. */
import type { ErrorShape } from "@svc/sdk";
import type { EventCursor, StateVersion } from "@svc/sdk/protocol";

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

/** Fields of an event next to name and payload. Absent fields are omitted: existing clients hang on a null or an unknown key. */
export interface EventMarks {
  readonly seq?: number | undefined;
  readonly stateVersion?: StateVersion | undefined;
  readonly cursor?: EventCursor | undefined;
}

/** @param payload JSON text; `undefined` payloads are left out */
export function encodeEventText(
  event: string,
  payload: string | undefined,
  { seq, stateVersion, cursor }: EventMarks = {},
): Buffer {
  let text = `{"type":"event","event":${JSON.stringify(event)}`;
  if (payload !== undefined) text += `,"payload":${payload}`;
  if (seq !== undefined) text += `,"seq":${seq}`;
  if (stateVersion !== undefined) text += `,"stateVersion":${JSON.stringify(stateVersion)}`;
  if (cursor !== undefined) text += `,"cursor":${JSON.stringify(cursor)}`;
  return encodeTextFrame(`${text}}`);
}

/** As `encodeEventText`, for a payload that is not JSON text yet. */
export function encodeEvent(event: string, payload: unknown, marks?: EventMarks): Buffer {
  return encodeEventText(event, JSON.stringify(payload) as string | undefined, marks);
}

/** @throws TypeError the payload cannot be JSON */
export function encodeResult(id: string, payload: unknown): Buffer {
  return encodeTextFrame(JSON.stringify({ type: "res", id, ok: true, payload }));
}

/** Never throws: if a plugin's payload or details cannot be JSON, only code and message are sent. */
export function encodeFailure(id: string, error: ErrorShape, payload?: unknown): Buffer {
  try {
    return encodeTextFrame(JSON.stringify({ type: "res", id, ok: false, payload, error }));
  } catch {
    const { code, message } = error;
    return encodeTextFrame(JSON.stringify({ type: "res", id, ok: false, error: { code, message } }));
  }
}

/** Cuts a close reason to 120 bytes, never inside a character. Spec: protocol/frames-and-connect.md §5. */
export function closeReason(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= 120 ? text : bytes.subarray(0, 120).toString().replace(/�+$/, "");
}

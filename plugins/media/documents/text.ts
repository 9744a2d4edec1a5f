/** Decodes bytes as text. Pure. Spec: http/responses.md §4. */
import { sniffImage } from "@svc/kit/media";
import { invalidRequest } from "@svc/sdk";

/** First bytes of known binary formats, for a helpful error. */
const KINDS: readonly (readonly [start: string, name: string])[] = [
  ["%PDF-", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive or an office document"],
  ["\x1f\x8b", "a gzip archive"],
  ["\x7fELF", "a program"],
  ["\xd0\xcf\x11\xe0", "an office document"],
];

/**
 * The text of a file: in its charset, else by its byte order mark, else as UTF-8.
 * @throws GatewayError `INVALID_REQUEST` for binary data, naming its type
 */
export function decodeText(bytes: Uint8Array, charset?: string): string {
  const start = Buffer.from(bytes.subarray(0, 8)).toString("latin1");
  const kind =
    sniffImage(bytes)?.replace("image/", "an image of type ") ?? KINDS.find(([s]) => start.startsWith(s))?.[1];
  if (kind !== undefined) invalidRequest(`the file is ${kind}, not text; send it with its real type, or as plain text`);
  const text = decoderOf(charset, bytes).decode(bytes);
  if (text.includes("\0"))
    invalidRequest("the file is binary, not text: it contains NUL characters; send it as plain text");
  if (isMostlyNoise(text)) {
    invalidRequest("the file is binary, or text in a charset that was not declared; send it as UTF-8");
  }
  return text;
}

function decoderOf(charset: string | undefined, bytes: Uint8Array): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset ?? markedCharset(bytes));
  } catch {
    return new TextDecoder(markedCharset(bytes)); // unknown charset
  }
}

function markedCharset([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** Number of characters that are checked, and the share of unreadable characters above which data is not text. */
const LOOKED_AT = 10_000;
const MAX_NOISE = 0.3;

function isMostlyNoise(text: string): boolean {
  const head = text.slice(0, LOOKED_AT);
  // oxlint-disable-next-line no-control-regex -- the search is for control characters
  const noise = head.match(/[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]/g)?.length ?? 0;
  return noise > head.length * MAX_NOISE;
}

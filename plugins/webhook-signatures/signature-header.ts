/** Reads headers of a signed request, before any of them is trusted. */
import type { SignedRequest } from "@svc/sdk/webhooks";

/** Choice: most characters of a header; sixteen signatures with a time need a quarter of it. */
export const MAX_HEADER_CHARS = 4_096;

/** A header of acceptable length. */
export interface HeaderText {
  readonly text: string;
}

/** @param name in lower case @returns the header, or why it cannot be read */
export function readHeader({ headers }: SignedRequest, name: string): HeaderText | string {
  const text: unknown = headers[name];
  if (typeof text !== "string" || text.trim() === "") {
    return `header ${name} is missing; is the secret set at the sender?`;
  }
  return text.length > MAX_HEADER_CHARS ? `header ${name} is longer than ${MAX_HEADER_CHARS} characters` : { text };
}

/** Choice: lower case only, as all services send it, so that each signature has one spelling. */
const HEX_DIGEST = /^[0-9a-f]{64}$/;

/** @returns the 32 bytes, or `undefined` if the text is not an HMAC-SHA256 in lower-case hex */
export function readHexDigest(text: string): Uint8Array | undefined {
  return HEX_DIGEST.test(text) ? Buffer.from(text, "hex") : undefined;
}

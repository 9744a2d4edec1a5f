/**
 * Standard Webhooks, symmetric: `webhook-signature: v1,<base64>[ v1,<base64>...]` over
 * `<webhook-id>.<webhook-timestamp>.<body>`.
 */
import { DIGEST_BYTES, type HmacScheme, MAX_SIGNATURES } from "./hmac-verifier.ts";
import { readHeader } from "./signature-header.ts";
import { readTime } from "./signed-time.ts";

const ID = "webhook-id";
const TIME = "webhook-timestamp";
const SIGNATURE = "webhook-signature";
const VERSION = "v1,";

/** Choice: the length. A full stop would let a part of the body pass as id or time; the scheme forbids it. */
const DELIVERY_ID = /^[!-\-/-~]{1,256}$/;

const SECRET_PREFIX = "whsec_";
/** Bytes; the scheme asks for 24 to 64. Choice: longer keys are accepted, because they are not weaker. */
const MIN_KEY_BYTES = 24;

export const standardWebhooks: HmacScheme = {
  id: "standard-webhooks",
  summary: `senders that follow Standard Webhooks (${SIGNATURE})`,

  secretProblem(secret) {
    if (secret.trim() === "")
      return "is blank; copy the signing secret from the sender's settings, it begins with whsec_";
    const key = keyOf(secret);
    if (!key)
      return "is not base64, with or without whsec_ before it; copy the signing secret from the sender's settings";
    if (key.length >= MIN_KEY_BYTES) return undefined;
    return `has only ${key.length} bytes; at least ${MIN_KEY_BYTES} are required; create a longer secret at the sender`;
  },
  key: (secret) => keyOf(secret) ?? new Uint8Array(),

  read(request) {
    const id = readHeader(request, ID);
    if (typeof id === "string") return id;
    const time = readHeader(request, TIME);
    if (typeof time === "string") return time;
    const header = readHeader(request, SIGNATURE);
    if (typeof header === "string") return header;
    if (!DELIVERY_ID.test(id.text)) return `header ${ID} is not 1 to 256 visible ASCII characters without a full stop`;
    const signedAt = readTime(time.text);
    if (signedAt === undefined) return `header ${TIME} is not a time in whole seconds`;
    // Other versions are skipped, e.g. the asymmetric v1a.
    const texts = header.text.split(" ").filter((text) => text.startsWith(VERSION));
    if (texts.length > MAX_SIGNATURES)
      return `header ${SIGNATURE} has more than ${MAX_SIGNATURES} signatures (${VERSION})`;
    const signatures = texts.flatMap((text) => readDigest(text.slice(VERSION.length)) ?? []);
    if (signatures.length === 0) return `header ${SIGNATURE} has no signature (${VERSION}) of 32 bytes in base64`;
    const content = [`${id.text}.${time.text}.`, request.rawBody];
    return { content, signatures, signedAt, deliveryId: id.text };
  },
};

function readDigest(text: string): Uint8Array | undefined {
  const bytes = fromBase64(text);
  return bytes?.length === DIGEST_BYTES && text.endsWith("=") ? bytes : undefined;
}

function keyOf(secret: string): Uint8Array | undefined {
  return fromBase64(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret);
}

/** Strict: only the canonical spelling is accepted, with or without padding. */
function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  const spelling = bytes.toString("base64");
  return text === spelling || text === spelling.replace(/=+$/, "") ? bytes : undefined;
}

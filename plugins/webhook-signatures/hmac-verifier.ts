/**
 * A verifier for services that sign with HMAC-SHA256. The schemes differ in the signed content and the headers;
 * time, secrets and comparison are the same and are in this file.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { SignatureVerdict, SignedRequest, WebhookVerifier } from "@svc/sdk/webhooks";
import { timeProblem } from "./signed-time.ts";

/** Length of an HMAC-SHA256 in bytes. */
export const DIGEST_BYTES = 32;

/** Choice: most signatures of one request. A sender sends one, and two or three while a secret is replaced. */
export const MAX_SIGNATURES = 16;

/** Seconds by which a signed time may be off. All schemes with a time recommend this value. */
const DEFAULT_TOLERANCE_SECONDS = 300;

/** The unverified content of a signed request. */
export interface Claim {
  /** Signed content, piece by piece; the body as received bytes. */
  readonly content: readonly (string | Uint8Array)[];
  /** Each has `DIGEST_BYTES` bytes; at least one, at most `MAX_SIGNATURES`. */
  readonly signatures: readonly Uint8Array[];
  /** Unix seconds; absent if no time is signed. */
  readonly signedAt?: number;
  /** Signed id of the delivery, the same for a repetition. Default: a hash of the content. */
  readonly deliveryId?: string;
}

/** Signature scheme of one service. */
export interface HmacScheme {
  /** Value of `verify.type`. */
  readonly id: string;
  readonly summary: string;
  /** @returns the claim, or why the request has none */
  read(request: SignedRequest): Claim | string;
  /** Why the secret is unusable; an unusable secret never authenticates a request. */
  secretProblem(secret: string): string | undefined;
  /** The key of a secret; only called for usable secrets. Default: its UTF-8 bytes. */
  key?(secret: string): Uint8Array;
}

export function createHmacVerifier(scheme: HmacScheme): WebhookVerifier {
  const { id, summary, key = (secret: string) => Buffer.from(secret, "utf8") } = scheme;
  return {
    summary,
    secretProblem: (secret) => scheme.secretProblem(secret),

    verify(request, secrets, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS): SignatureVerdict {
      const claim = scheme.read(request);
      if (typeof claim === "string") return { ok: false, reason: claim };
      const problem = timeProblem(claim.signedAt, request.now, toleranceSeconds);
      if (problem !== undefined) return { ok: false, reason: problem };
      const keys = secrets.filter((secret) => scheme.secretProblem(secret) === undefined).map((secret) => key(secret));
      if (keys.length === 0) return { ok: false, reason: "no usable secret is configured; see svc hooks check" };
      return anyFits(claim, keys)
        ? { ok: true, replayKey: `${id}:${claim.deliveryId ?? hashOf(claim.content)}` }
        : {
            ok: false,
            reason: "no signature matches; check that the secret is the sender's, and that no proxy changes the body",
          };
    },
  };
}

/** Compares every signature with every key, without stopping at a match. */
function anyFits({ content, signatures }: Claim, keys: readonly Uint8Array[]): boolean {
  let fits = false;
  for (const key of keys) {
    const hmac = createHmac("sha256", key);
    for (const piece of content) hmac.update(piece);
    const digest = hmac.digest();
    for (const signature of signatures) fits = timingSafeEqual(digest, signature) || fits;
  }
  return fits;
}

/**
 * Choice: a hash of the signed content, not of the signature. A copied request could drop one of several signatures and look new,
 * and after a secret is replaced the same content has another signature.
 */
function hashOf(content: Claim["content"]): string {
  const hash = createHash("sha256");
  for (const piece of content) hash.update(piece);
  return hash.digest("hex");
}

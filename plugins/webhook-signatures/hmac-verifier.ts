/**
 * A verifier for services that sign with HMAC-SHA256. The schemes differ in what they sign and where they write it;
 * time, secrets and comparing are alike, and stand here.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { SignatureVerdict, SignedRequest, WebhookVerifier } from "@svc/sdk/webhooks";
import { timeProblem } from "./signed-time.ts";

/** Bytes of an HMAC-SHA256. */
export const DIGEST_BYTES = 32;

/** Signatures of one request that are compared; more are refused. Choice: a sender sends one, and two or three while a secret is replaced. */
export const MAX_SIGNATURES = 16;

/** Seconds a signed time may be off. All schemes with a time recommend it. */
const DEFAULT_TOLERANCE_SECONDS = 300;

/** What a request says of itself. */
export interface Claim {
  /** What was signed, piece by piece; the body as the bytes that came. */
  readonly content: readonly (string | Uint8Array)[];
  /** Each of `DIGEST_BYTES`; at least one, at most `MAX_SIGNATURES`. */
  readonly signatures: readonly Uint8Array[];
  /** Unix seconds; absent where no time is signed. */
  readonly signedAt?: number;
  /** Signed name of the delivery, the same when it is sent again. Default: a hash of the content. */
  readonly deliveryId?: string;
}

/** How one service signs. */
export interface HmacScheme {
  /** Value of `verify.type`. */
  readonly id: string;
  readonly summary: string;
  /** @returns the claim, or why there is none */
  read(request: SignedRequest): Claim | string;
  /** Why this secret cannot be one; such a secret never makes a request good. */
  secretProblem(secret: string): string | undefined;
  /** The key a secret stands for; only called for secrets without a problem. Default: its UTF-8 bytes. */
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
        : { ok: false, reason: "no signature fits; is the secret the one the sender has, and the body untouched?" };
    },
  };
}

/** Compares every signature with every key, whatever was found before. */
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
 * Choice: of what was signed, not of the signature. Of several signatures a copied request could drop one and look new,
 * and after a secret is replaced the same content carries another signature.
 */
function hashOf(content: Claim["content"]): string {
  const hash = createHash("sha256");
  for (const piece of content) hash.update(piece);
  return hash.digest("hex");
}

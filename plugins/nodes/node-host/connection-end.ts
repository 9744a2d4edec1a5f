/** What the end of a connection, or a refused one, means for a node: wait, come back, or give up. Pure. */
import { isGatewayError, messageOf } from "@svc/sdk";

/** Why there is no connection now. */
export type ConnectionEnd =
  /** It was there, or nobody answered: it is tried again. */
  | { readonly kind: "lost"; readonly why: string; readonly retryAfterMs?: number }
  /** Somebody has to approve this device on the gateway. */
  | { readonly kind: "unapproved"; readonly requestId: string | undefined; readonly reason: string | undefined }
  /** The gateway does not take the token it gave to this device. */
  | { readonly kind: "token-refused" }
  /** Trying again changes nothing. */
  | { readonly kind: "refused"; readonly why: string; readonly next: string };

/** @param usedDeviceToken it had no other credential */
export function judgeRefusal(error: unknown, usedDeviceToken: boolean): ConnectionEnd {
  if (!isGatewayError(error)) return { kind: "lost", why: messageOf(error) };
  const { code, message, retryAfterMs } = error;
  const details = (error.details ?? {}) as Readonly<Record<string, unknown>>;
  const detail = text(details["code"]);
  if (code === "NOT_PAIRED" && detail !== "DEVICE_IDENTITY_REQUIRED") {
    return { kind: "unapproved", requestId: text(details["requestId"]), reason: text(details["reason"]) };
  }
  if (
    detail === "AUTH_RATE_LIMITED" ||
    code === "UNAVAILABLE" ||
    code === "TOO_MANY_ATTEMPTS" ||
    retryAfterMs !== undefined
  ) {
    return { kind: "lost", why: message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  if (usedDeviceToken && /^AUTH_(DEVICE_TOKEN_MISMATCH$|TOKEN_|PASSWORD_)/.test(detail ?? ""))
    return { kind: "token-refused" };
  if (detail?.startsWith("AUTH_TOKEN_")) return { kind: "refused", why: message, next: WITH_SECRET };
  return { kind: "refused", why: message, next: text(details["nextStep"]) ?? nextStep(detail ?? code) };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Where a gateway's secret is found, and how it is used. */
export const WITH_SECRET =
  "on the gateway's machine: svc gateway token; then here: svc node run --token with what it prints, or SVC_GATEWAY_TOKEN";

/** For a gateway that does not say so itself. */
function nextStep(code: string): string {
  if (code.startsWith("AUTH_")) return WITH_SECRET;
  if (code === "DEVICE_AUTH_SIGNATURE_EXPIRED") return "set the clock of this machine";
  if (/PROTOCOL/.test(code)) return "install the same version of svc here and on the gateway";
  return "see the gateway's log, and svc devices list there";
}

/** Milliseconds. */
const WAITS = { lost: { first: 1_000, most: 30_000 }, unapproved: { first: 2_000, most: 30_000 } } as const;

/**
 * Milliseconds until the next attempt: twice as long each time, between half and all of it, so that many nodes of one gateway do not
 * come back at once.
 * @param attempt 0 for the first @param random 0..1
 */
export function waitMs(kind: keyof typeof WAITS, attempt: number, random: number): number {
  const { first, most } = WAITS[kind];
  const whole = Math.min(most, first * 2 ** Math.min(attempt, 30));
  return Math.round(whole / 2 + (random * whole) / 2);
}

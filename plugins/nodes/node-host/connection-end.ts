/** Decides what a node does after a connection ended or was refused: wait, reconnect, or stop. Pure. */
import { isGatewayError, messageOf } from "@svc/sdk";

/** Why a connection ended or was refused. */
export type ConnectionEnd =
  /** The connection was lost or the gateway is unreachable: the node retries. */
  | { readonly kind: "lost"; readonly why: string; readonly retryAfterMs?: number }
  /** People must approve this device on the gateway. */
  | { readonly kind: "unapproved"; readonly requestId: string | undefined; readonly reason: string | undefined }
  /** The gateway refused the stored token of this device. */
  | { readonly kind: "token-refused" }
  /** Retrying is useless. */
  | { readonly kind: "refused"; readonly why: string; readonly next: string };

/** @param usedDeviceToken the device token was the only credential */
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

/** The next step for a missing or wrong secret of the gateway. */
export const WITH_SECRET =
  "on the gateway's machine: svc gateway token; then here: svc node run --token <printed token>, or SVC_GATEWAY_TOKEN";

/** The next step when the gateway's refusal names none. */
function nextStep(code: string): string {
  if (code.startsWith("AUTH_")) return WITH_SECRET;
  if (code === "DEVICE_AUTH_SIGNATURE_EXPIRED") return "set the clock of this machine";
  if (/PROTOCOL/.test(code)) return "install the same version of svc here and on the gateway";
  return "check the gateway's log, and svc devices list there";
}

/** Delays in milliseconds. */
const WAITS = { lost: { first: 1_000, most: 30_000 }, unapproved: { first: 2_000, most: 30_000 } } as const;

/**
 * Milliseconds until the next attempt: doubles each time, and is reduced at random by up to half, so that the nodes of one
 * gateway do not reconnect at once.
 * @param attempt from 0 @param random 0..1
 */
export function waitMs(kind: keyof typeof WAITS, attempt: number, random: number): number {
  const { first, most } = WAITS[kind];
  const whole = Math.min(most, first * 2 ** Math.min(attempt, 30));
  return Math.round(whole / 2 + (random * whole) / 2);
}

/** Errors of adapters as errors of the gateway. Adapters have their own copy of the error classes: only codes are compared. Pure. */
import { type ErrorCode, GatewayError, isGatewayError, messageOf } from "@svc/sdk";
import type { Settings } from "./config.ts";

/** By `code` or HTTP status of the error. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  AUTH_FAILED: "NOT_LINKED",
  401: "NOT_LINKED",
  RATE_LIMITED: "UNAVAILABLE",
  NOT_IMPLEMENTED: "INVALID_REQUEST",
  NOT_SUPPORTED: "INVALID_REQUEST",
  PERMISSION_DENIED: "INVALID_REQUEST",
  VALIDATION_ERROR: "INVALID_REQUEST",
  NOT_FOUND: "NOT_FOUND",
};

/** A text without the credentials of the account. */
export const redacted = (text: string, { credentials }: Pick<Settings, "credentials">) =>
  Object.values(credentials).reduce((rest, secret) => rest.replaceAll(secret, "(hidden)"), text);

/** @param what the function of the adapter that failed */
export function failureOf(error: unknown, settings: Settings, what: string): GatewayError {
  if (isGatewayError(error)) return error;
  const { code, status, statusCode, name, retryAfter, retryAfterMs = Number(retryAfter) * 1_000 } = Object(error);
  const known = [code, name === "NotImplementedError" ? "NOT_IMPLEMENTED" : "", status, statusCode]
    .map(String)
    .find((one) => Object.hasOwn(CODES, one));
  const { adapter } = settings;
  if (known === "NOT_IMPLEMENTED" || known === "NOT_SUPPORTED")
    return new GatewayError("INVALID_REQUEST", `the adapter ${adapter} does not implement ${what}`);
  const text = `${what} of the adapter ${adapter} failed: ${redacted(messageOf(error), settings)}`;
  const next = known === "AUTH_FAILED" || known === "401" ? "; next: check credentials and options of the account" : "";
  const wait = retryAfterMs >= 0 ? { retryAfterMs: Number(retryAfterMs) } : {};
  return new GatewayError(CODES[known ?? ""] ?? "UNAVAILABLE", text + next, wait);
}

/** Settles like `work`. @throws GatewayError */
export async function told<T>(settings: Settings, what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error, settings, what);
  }
}

/** Checks the gateway's own secret, or the user named by a proxy, over WebSocket and HTTP. Spec: protocol/frames-and-connect.md §7, http/auth.md §4. Pure. */
import type { DetailCode } from "@svc/sdk/errors";
import type { ConnectParams } from "@svc/sdk/protocol";
import type { Peer } from "./client-address.ts";
import type { AuthSettings } from "./settings.ts";
import { sameSecret } from "./secret.ts";
import { checkTrustedProxy } from "./trusted-proxy.ts";

/** Outcome of checking the shared credential. `user` is set in mode `trusted-proxy`; `reason` is the wire's `authReason`. */
export type SharedAuth =
  | { readonly ok: true; readonly user?: string }
  | { readonly ok: false; readonly reason: string };

/** Longer secrets are rejected without comparison: hashing costs time, and the client has proven nothing yet. */
const MAX_SECRET = 8_192;

const present = (value: string | undefined) => value?.trim() || undefined;

function compare(kind: "token" | "password", given: string | undefined, expected: string | undefined): SharedAuth {
  if (expected === undefined) return { ok: false, reason: `${kind}_missing_config` };
  if (given === undefined) return { ok: false, reason: `${kind}_missing` };
  const tooLong = given.length > Math.max(MAX_SECRET, expected.length);
  return !tooLong && sameSecret(given, expected) ? { ok: true } : { ok: false, reason: `${kind}_mismatch` };
}

/**
 * Checks `connect.auth` against the mode. Surrounding blanks are ignored; a blank credential counts as missing.
 * Choice (spec/README.md): the password is accepted in `auth.token`, too.
 * @param peer needed in mode `trusted-proxy` only
 */
export function checkShared(settings: AuthSettings, auth: ConnectParams["auth"], peer?: Peer): SharedAuth {
  const { mode, token, password } = settings;
  if (mode === "none") return { ok: true };
  if (mode === "trusted-proxy") return checkTrustedProxy(peer, settings);
  if (mode === "token") return compare("token", present(auth?.token), present(token));
  return compare("password", present(auth?.password) ?? present(auth?.token), present(password));
}

/** The secret of an `Authorization` header: `Bearer <secret>`, the scheme in any case. `undefined`: missing or blank. */
export function bearerOf(header: string | undefined): string | undefined {
  return present(/^bearer\s+(.+)$/i.exec(header ?? "")?.[1]);
}

const CODES: ReadonlyMap<string, DetailCode> = new Map([
  ["token_missing", "AUTH_TOKEN_MISSING"],
  ["token_mismatch", "AUTH_TOKEN_MISMATCH"],
  ["token_missing_config", "AUTH_TOKEN_NOT_CONFIGURED"],
  ["password_missing", "AUTH_PASSWORD_MISSING"],
  ["password_mismatch", "AUTH_PASSWORD_MISMATCH"],
  ["password_missing_config", "AUTH_PASSWORD_NOT_CONFIGURED"],
  ["device_token_mismatch", "AUTH_DEVICE_TOKEN_MISMATCH"],
  ["rate_limited", "AUTH_RATE_LIMITED"],
]);

/** `details.code` for an `authReason`; the reasons of mode `trusted-proxy` have no code of their own. */
export function authDetailCode(reason: string | undefined): DetailCode {
  return reason === undefined ? "AUTH_REQUIRED" : (CODES.get(reason) ?? "AUTH_UNAUTHORIZED");
}

const MISSING_HEADER = "trusted_proxy_missing_header_";
const SENTENCES: ReadonlyMap<string, string> = new Map([
  ["token_missing", "gateway token missing (pass --token, or set SVC_GATEWAY_TOKEN)"],
  [
    "token_mismatch",
    "gateway token mismatch (use the token from the place that `svc gateway run` prints: SVC_GATEWAY_TOKEN, gateway.auth.token or the token file)",
  ],
  ["token_missing_config", "gateway token not configured (set gateway.auth.token of the gateway)"],
  ["password_missing", "gateway password missing (pass --password, or set SVC_GATEWAY_PASSWORD)"],
  ["password_mismatch", "gateway password mismatch (use gateway.auth.password of the gateway)"],
  ["password_missing_config", "gateway password not configured (set gateway.auth.password of the gateway)"],
  ["device_token_mismatch", "device token mismatch (connect with the gateway token to get a new one)"],
  ["rate_limited", "too many failed attempts (wait some minutes, then use the right credential)"],
  ["trusted_proxy_config_missing", "no proxy header configured (set gateway.auth.trustedProxy.userHeader)"],
  ["trusted_proxy_no_proxies_configured", "no proxy is trusted (set gateway.trustedProxies)"],
  ["trusted_proxy_no_request", "no request to take the user from (connect through the proxy)"],
  ["trusted_proxy_untrusted_source", "this address is not a trusted proxy (connect through the proxy)"],
  ["trusted_proxy_secret_mismatch", "the proxy sent a wrong secret (it must send gateway.auth.trustedProxy.secret)"],
  ["trusted_proxy_user_missing", "the proxy named no user (log in at the proxy)"],
  [
    "trusted_proxy_user_not_allowed",
    "this user is not allowed (ask the operator to add it to gateway.auth.trustedProxy.allowUsers)",
  ],
]);

/** Message that a client shows; existing clients match its first word. */
export function unauthorizedText(reason: string | undefined): string {
  if (reason === undefined) return "unauthorized: a credential is required (pass --token or --password)";
  if (reason.startsWith(MISSING_HEADER))
    return `unauthorized: the proxy did not send the header ${reason.slice(MISSING_HEADER.length)} (log in at the proxy)`;
  return `unauthorized: ${SENTENCES.get(reason) ?? reason.replaceAll("_", " ")}`;
}

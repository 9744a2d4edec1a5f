/** Reads the user that a trusted proxy names. Spec: http/auth.md §5. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import type { Peer } from "./client-address.ts";
import { sameSecret } from "./secret.ts";

/** What mode `trusted-proxy` relies on. */
export interface TrustedProxySettings {
  /** Name of the header that carries the user; any case. */
  readonly userHeader: string;
  /** Headers that must be present and not blank. */
  readonly requiredHeaders: readonly string[];
  /** Only these users; empty: every user the proxy lets through. `*` has no special meaning. */
  readonly allowUsers: readonly string[];
  /** `gateway.trustedProxies`. */
  readonly trustedProxies: readonly string[];
  /** Secret that the proxy must send in `X-Svc-Proxy-Secret`. */
  readonly secret?: string;
}

/** Choice: a header of the gateway's own, since `requiredHeaders` does not check values. */
const SECRET_HEADER = "x-svc-proxy-secret";

export type ProxyAuth = { readonly ok: true; readonly user: string } | { readonly ok: false; readonly reason: string };

/** Maximum characters of a user name. Choice: the spec sets no limit. */
const MAX_USER = 256;

/** The wire contract fixes the order of checks and their reasons. */
export function checkTrustedProxy(
  peer: Peer | undefined,
  { trustedProxy: settings }: { readonly trustedProxy?: TrustedProxySettings | undefined },
): ProxyAuth {
  if (!settings || settings.userHeader.trim() === "") return refused("config_missing");
  if (settings.trustedProxies.length === 0) return refused("no_proxies_configured");
  if (!peer) return refused("no_request");
  if (!peer.viaProxy) return refused("untrusted_source");
  if (settings.secret !== undefined) {
    const given = headerValue(peer.headers, SECRET_HEADER);
    if (given === undefined) return refused(`missing_header_${SECRET_HEADER}`);
    if (!sameSecret(given, settings.secret)) return refused("secret_mismatch");
  }
  const missing = settings.requiredHeaders.find((name) => headerValue(peer.headers, name) === undefined);
  if (missing !== undefined) return refused(`missing_header_${missing.trim().toLowerCase()}`);
  const user = headerValue(peer.headers, settings.userHeader);
  if (user === undefined) return refused("user_missing");
  const { allowUsers } = settings;
  if (!isUserName(user) || (allowUsers.length > 0 && !allowUsers.includes(user))) return refused("user_not_allowed");
  return { ok: true, user };
}

function refused(reason: string): ProxyAuth {
  return { ok: false, reason: `trusted_proxy_${reason}` };
}

/**
 * Trimmed, the first of several values; blank counts as absent.
 * Choice: values that Node joined with a comma are one value, since names may contain commas; no list of users matches it.
 */
function headerValue(headers: IncomingHttpHeaders, name: string): string | undefined {
  const key = name.trim().toLowerCase();
  const value = Object.hasOwn(headers, key) ? headers[key] : undefined;
  return (Array.isArray(value) ? value[0] : value)?.trim() || undefined;
}

/** Choice: a name that is too long or contains invisible characters is invalid; it would spoil logs and audit lines. */
function isUserName(user: string): boolean {
  return user.length <= MAX_USER && !/\p{C}/u.test(user);
}

/** Whether a client is on this machine, and whether a page of an origin may connect. Spec: http/auth.md §7.2-7.3; protocol/frames-and-connect.md §8. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import { isIPv4 } from "node:net";
import { addressLiteral, compileAddresses, type Peer } from "./client-address.ts";

/** Headers that proxies add. Choice: the three of the spec, the standard headers, and those of common proxies. */
const FORWARDED = [
  "x-forwarded-for",
  "x-real-ip",
  "x-forwarded-host",
  "x-forwarded-proto",
  "forwarded",
  "via",
  "x-client-ip",
  "true-client-ip",
  "cf-connecting-ip",
] as const;

/** Whether a proxy, trusted or not, forwarded this request. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return FORWARDED.some((name) => headers[name] !== undefined);
}

/** Whether an address only reaches this machine: 127.0.0.0/8 or ::1, also in brackets or IPv4-mapped. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  const plain = addressLiteral(host.replace(/^\[(.*:.*)\]$/, "$1"));
  return plain !== undefined && (plain === "::1" || (isIPv4(plain) && plain.startsWith("127.")));
}

/** Whether one of these addresses and networks contains a loopback address. */
export function reachesLoopback(networks: readonly string[]): boolean {
  const { contains } = compileAddresses(networks);
  return contains("127.0.0.1") || contains("::1") || networks.some((one) => isLoopback(one.trim().split("/")[0] ?? ""));
}

/** Host name of a `Host` header or origin: lower case, no port. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

function isLocalName(host: string): boolean {
  const name = hostName(host);
  return name === "localhost" || isLoopback(name) || name.endsWith(".ts.net");
}

/**
 * Whether a client on this machine addressed it by a local name, with no proxy in between except a trusted one.
 * Choice: the trusted proxy must be on this machine as well, since the loopback of another machine is not this one's.
 */
export function isLocal({ remoteAddress, clientAddress, headers, viaProxy }: Peer): boolean {
  if (clientAddress === undefined || !isLoopback(clientAddress)) return false;
  if (viaProxy ? !isLoopback(remoteAddress) : isForwarded(headers)) return false;
  return headers.host !== undefined && isLocalName(headers.host);
}

export interface OriginPolicy {
  /** Full origins, or `*`. */
  readonly allowedOrigins: readonly string[];
  /** `gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback`. Default false. */
  readonly hostHeaderFallback?: boolean;
  /**
   * A client may be admitted without knowing a secret: modes `none` and `trusted-proxy`. Default true.
   * Choice: then origins are checked behind a proxy, too; otherwise any page could connect with the headers the proxy adds.
   */
  readonly ambient?: boolean;
  /**
   * Of the pages of this machine, only those of this port may connect without being listed. Absent: those of any port.
   * Choice: set in mode `none`, where a page of any other local server, e.g. a preview of a download, would be admin.
   */
  readonly ownPort?: number;
}

/** The rule that admitted a page; `matchedBy` is absent when none was needed. `host-header-fallback` deserves a warning in the log. */
export type OriginVerdict =
  | { readonly ok: true; readonly matchedBy?: "allowlist" | "host-header-fallback" | "local-loopback" }
  | { readonly ok: false; readonly reason: string };

/** @param required web clients must send an origin; others are checked when they send one, see `OriginPolicy.ambient` */
export function checkOrigin(peer: Peer, required: boolean, policy: OriginPolicy): OriginVerdict {
  const { allowedOrigins, hostHeaderFallback = false, ambient = true } = policy;
  const { origin, host } = peer.headers;
  if (!required && (origin === undefined || (!ambient && isForwarded(peer.headers)))) return { ok: true };
  if (origin === undefined) return { ok: false, reason: "origin not allowed (none was sent)" };
  const url = parseOrigin(origin);
  if (!url) return { ok: false, reason: "origin not allowed (it is not an origin)" }; // includes `null`: not even `*` allows it
  const wanted = origin.toLowerCase();
  if (allowedOrigins.some((allowed) => allowed === "*" || allowed.trim().toLowerCase() === wanted))
    return { ok: true, matchedBy: "allowlist" };
  if (hostHeaderFallback && host !== undefined && isHostOf(url, host.toLowerCase()))
    return { ok: true, matchedBy: "host-header-fallback" };
  const port = Number(url.port || DEFAULT_PORTS.get(url.protocol));
  const isOwn = policy.ownPort === undefined || port === policy.ownPort;
  if (isOwn && (url.hostname === "localhost" || isLoopback(url.hostname)) && isLocal(peer))
    return { ok: true, matchedBy: "local-loopback" };
  return { ok: false, reason: "origin not allowed (add it to gateway.controlUi.allowedOrigins)" };
}

/** Like `checkOrigin`. @returns why a page may not connect, or `undefined` when it may */
export function originRefusal(peer: Peer, required: boolean, policy: OriginPolicy): string | undefined {
  const verdict = checkOrigin(peer, required, policy);
  return verdict.ok ? undefined : verdict.reason;
}

/** Longer than any origin a browser sends. */
const MAX_ORIGIN = 2_048;

/** `undefined`: not an origin, e.g. with a user, a path or a query, which no browser sends. */
function parseOrigin(origin: string): URL | undefined {
  if (origin.length > MAX_ORIGIN || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s]+$/i.test(origin)) return undefined;
  return URL.canParse(origin) ? new URL(origin) : undefined;
}

const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ["http:", "80"],
  ["https:", "443"],
]);

/** Whether host and port are equal; the header may name the default port explicitly. */
function isHostOf({ protocol, host, hostname, port }: URL, header: string): boolean {
  return host !== "" && (header === host || (port === "" && header === `${hostname}:${DEFAULT_PORTS.get(protocol)}`));
}

/** Is the client on this machine, and may a page of this origin connect? Spec: http/auth.md §7.2-7.3; protocol/frames-and-connect.md §8. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import { isIPv4 } from "node:net";
import { addressLiteral, compileAddresses, type Peer } from "./client-address.ts";

/** What a proxy adds. Choice: beside the three of the spec the standard headers, and those of common proxies. */
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

/** Some proxy, trusted or not, has its hands in this request. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return FORWARDED.some((name) => headers[name] !== undefined);
}

/** An address that only reaches this machine: 127.0.0.0/8 or ::1, also in brackets or IPv4-mapped. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  const plain = addressLiteral(host.replace(/^\[(.*:.*)\]$/, "$1"));
  return plain !== undefined && (plain === "::1" || (isIPv4(plain) && plain.startsWith("127.")));
}

/** Whether some of these addresses and networks hold one of this machine. */
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
 * A client on this machine that addressed it as itself, with no proxy in between but a trusted one.
 * Choice: that one has to be on this machine as well, since the loopback of another is not ours.
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
   * A client may be let in without a secret that it has to know: modes `none` and `trusted-proxy`. Default true.
   * Choice: then an origin counts behind a proxy, too; else any page could connect with whatever the proxy adds.
   */
  readonly ambient?: boolean;
  /**
   * Of pages of this machine only those of this port may connect without being listed. Absent: those of any port.
   * Choice: in mode `none`, where a page of any other server here, a preview of something downloaded, would be admin.
   */
  readonly ownPort?: number;
}

/** What let a page in; `undefined` when nothing had to be asked. `host-header-fallback` deserves a warning in the log. */
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
  if (!url) return { ok: false, reason: "origin not allowed (it is not an origin)" }; // `null`, too: not even `*` means it
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

/** Why a page may not connect, or `undefined` when it may. As `checkOrigin`. */
export function originRefusal(peer: Peer, required: boolean, policy: OriginPolicy): string | undefined {
  const verdict = checkOrigin(peer, required, policy);
  return verdict.ok ? undefined : verdict.reason;
}

/** Longer than any origin a browser sends. */
const MAX_ORIGIN = 2_048;

/** `undefined`: it is no origin, e.g. has a user, a path or a query, which no browser sends. */
function parseOrigin(origin: string): URL | undefined {
  if (origin.length > MAX_ORIGIN || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s]+$/i.test(origin)) return undefined;
  return URL.canParse(origin) ? new URL(origin) : undefined;
}

const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ["http:", "80"],
  ["https:", "443"],
]);

/** Host and port are the same; a port that goes without saying may be said. */
function isHostOf({ protocol, host, hostname, port }: URL, header: string): boolean {
  return host !== "" && (header === host || (port === "" && header === `${hostname}:${DEFAULT_PORTS.get(protocol)}`));
}

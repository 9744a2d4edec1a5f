/** Is the client on this machine, and may a page of this origin connect? Spec: protocol/frames-and-connect.md §8. Pure. */
import { isIP } from "node:net";
import type { IncomingHttpHeaders } from "node:http";

/** What is known of a peer before it says anything. */
export interface Peer {
  readonly remoteAddress: string;
  readonly headers: IncomingHttpHeaders;
}

const FORWARDED = ["x-forwarded-for", "x-real-ip", "x-forwarded-host"] as const;

/** `::ffff:127.0.0.1` and `127.0.0.1` are one address. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

function isLoopback(host: string): boolean {
  const plain = plainAddress(host.replace(/^\[|\]$/g, ""));
  return plain === "::1" || (isIP(plain) === 4 && plain.startsWith("127."));
}

/** Host name of a `Host` header or origin: lower case, no port. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

function isLocalName(host: string): boolean {
  const name = hostName(host);
  return name === "localhost" || isLoopback(name) || name.endsWith(".ts.net");
}

/** A loopback peer that addressed this machine as itself, and no proxy in between. */
export function isLocal({ remoteAddress, headers }: Peer): boolean {
  const proxied = FORWARDED.some((name) => headers[name] !== undefined);
  return !proxied && isLoopback(remoteAddress) && headers.host !== undefined && isLocalName(headers.host);
}

export interface OriginPolicy {
  /** Full origins, or `*`. */
  readonly allowedOrigins: readonly string[];
}

/**
 * Why a page may not connect, or `undefined` when it may.
 * @param required web clients must send an origin; others are only checked when they do.
 */
export function originRefusal(peer: Peer, required: boolean, { allowedOrigins }: OriginPolicy): string | undefined {
  const { origin } = peer.headers;
  if (origin === undefined) return required ? "origin not allowed (none was sent)" : undefined;
  const next = "add it to gateway.controlUi.allowedOrigins";
  if (allowedOrigins.includes("*") || allowedOrigins.some((allowed) => allowed.toLowerCase() === origin.toLowerCase()))
    return undefined;
  let host: string;
  try {
    host = new URL(origin).hostname;
  } catch {
    return "origin not allowed (it is not an origin)";
  }
  if (isLocal(peer) && (host === "localhost" || isLoopback(host))) return undefined;
  return `origin not allowed (${next})`;
}

/** Is the client on this machine, and may a page of this origin connect? Spec: protocol/frames-and-connect.md §8. Pure. */
import { isIP } from "node:net";
import type { IncomingHttpHeaders } from "node:http";

/** What is known of a peer before it says anything. */
export interface Peer {
  readonly remoteAddress: string;
  readonly headers: IncomingHttpHeaders;
}

/** What a proxy adds. Choice: the standard `forwarded` beside the three of the spec. */
const FORWARDED = ["x-forwarded-for", "x-real-ip", "x-forwarded-host", "forwarded"] as const;

/** `::ffff:127.0.0.1` and `127.0.0.1` are one address. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

/** An address that only reaches this machine: 127.0.0.0/8 or ::1, also in brackets or IPv4-mapped. */
export function isLoopback(host: string): boolean {
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
  if (!URL.canParse(origin)) return "origin not allowed (it is not an origin)"; // `null`, too: not even `*` means it
  if (allowedOrigins.includes("*") || allowedOrigins.some((allowed) => allowed.toLowerCase() === origin.toLowerCase()))
    return undefined;
  const host = new URL(origin).hostname;
  if (isLocal(peer) && (host === "localhost" || isLoopback(host))) return undefined;
  return "origin not allowed (add it to gateway.controlUi.allowedOrigins)";
}

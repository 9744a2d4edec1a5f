/**
 * Addresses: their canonical spelling, sets of them, and the client behind a proxy. Pure.
 * Spec: http/auth.md §7.1; protocol/frames-and-connect.md §8.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIP, isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/** Facts about a peer before it sends anything; created by `resolvePeer`. */
export interface Peer {
  /** Address of the socket, canonical. */
  readonly remoteAddress: string;
  /** As received. */
  readonly headers: IncomingHttpHeaders;
  /** Address of the client itself; `undefined` when a trusted proxy does not name it. */
  readonly clientAddress: string | undefined;
  /** The socket's address is in `gateway.trustedProxies`. */
  readonly viaProxy: boolean;
}

/** Longest text that is parsed: an expanded address, a zone, brackets and a port. */
const MAX_TEXT = 100;
/** Hops of `x-forwarded-for` that are read, from the right. Choice: trusted proxies do not write more. */
const MAX_HOPS = 64;

const MAPPED_DOTTED = /^::ffff:([\d.]{7,15})$/i;
const DOTTED_TAIL = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

const hex = (high: string, low: string) => ((Number(high) << 8) | Number(low)).toString(16);
const dotted = (group: string) => `${Number.parseInt(group, 16) >> 8}.${Number.parseInt(group, 16) & 255}`;

/**
 * The canonical spelling of a bare address: IPv4 dotted, also for IPv4-mapped IPv6; IPv6 in lower case, compressed, without
 * zone. `undefined` for everything else, e.g. octal or short IPv4, brackets, a port.
 */
export function addressLiteral(text: string): string | undefined {
  // Addresses as sockets report them need no parsing.
  if (text === "::1" || isIPv4(text)) return text;
  const mapped = MAPPED_DOTTED.exec(text)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  if (text.length > MAX_TEXT || isIP(text) === 0) return undefined; // strict, unlike the library
  const [bare = ""] = text.split("%", 1);
  // Convert the tail to hexadecimal first: the library treats `::1.2.3.4`, which is not mapped, as a mapped address.
  const groups = bare.replace(
    DOTTED_TAIL,
    (_, head: string, a: string, b: string, c: string, d: string) => `${head}${hex(a, b)}:${hex(c, d)}`,
  );
  const plain = ipaddr.IPv6.parse(groups).toRFC5952String();
  const [, high, low] = MAPPED.exec(plain) ?? [];
  return high === undefined || low === undefined ? plain : `${dotted(high)}.${dotted(low)}`;
}

/** As `addressLiteral`, but also reads header values: surrounding blanks, `[…]` around IPv6, a port. */
export function canonicalAddress(text: string): string | undefined {
  const literal = addressLiteral(text);
  if (literal !== undefined || text.length > MAX_TEXT) return literal;
  const trimmed = text.trim();
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]*:[^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::(\d{1,5}))?$/.exec(trimmed) ?? [];
  if (port !== undefined && Number(port) > 65_535) return undefined;
  return addressLiteral(bracketed ?? plain ?? trimmed);
}

/**
 * What counts as one peer: an IPv4 address, or the /64 network of an IPv6 address, which a single host may use freely.
 * @param remote address as a socket reports it; any other text is returned as it is
 */
export function networkOf(remote: string): string {
  const address = addressLiteral(remote) ?? remote;
  return address.includes(":") && isIP(address) === 6
    ? ipaddr.IPv6.parse(address)
        .parts.slice(0, 4)
        .map((part) => part.toString(16))
        .join(":")
    : address;
}

/** The address under which a peer's guesses are counted: its own, or the first of its IPv6 /64 network. */
export function guesserOf(address: string): string {
  const network = networkOf(address);
  return network === address || !network.includes(":") ? network : `${network}::`;
}

/** A set of addresses and networks. */
export interface AddressSet {
  /** No entry can match. */
  readonly empty: boolean;
  /** Entries that are neither an address nor a network; they match nothing. */
  readonly malformed: readonly string[];
  /** Whether an address, in any spelling, is in the set. IPv4 and IPv6 never match each other, except mapped addresses. */
  contains(address: string): boolean;
}

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Parses e.g. `10.0.0.0/8`, also IPv4-mapped.
 * Choice: a mapped base with fewer than 96 bits is malformed, since it is a network of neither family.
 */
function readNetwork(entry: string): Network | undefined {
  const [, base = "", digits = ""] = /^([^/%]+)\/(0|[1-9]\d{0,2})$/.exec(entry) ?? [];
  const address = addressLiteral(base);
  if (address === undefined) return undefined;
  const four = isIPv4(address);
  const bits = four && base.includes(":") ? Number(digits) - 96 : Number(digits);
  return bits < 0 || bits > (four ? 32 : 128) ? undefined : [ipaddr.parse(address), bits];
}

/**
 * Reads a list of addresses and CIDR networks.
 * Choice: an entry with a zone is malformed; without its zone it would trust that address on every link.
 */
export function compileAddresses(entries: readonly string[]): AddressSet {
  const exact = new Set<string>();
  const networks: Network[] = [];
  const malformed: string[] = [];
  for (const entry of entries) {
    const text = entry.trim();
    const address = text.includes("%") ? undefined : addressLiteral(text);
    const network = address === undefined ? readNetwork(text) : undefined;
    if (address !== undefined) exact.add(address);
    else if (network) networks.push(network);
    else malformed.push(entry);
  }
  return {
    empty: exact.size === 0 && networks.length === 0,
    malformed,
    contains(text) {
      const address = canonicalAddress(text);
      if (address === undefined) return false;
      if (exact.has(address)) return true;
      if (networks.length === 0) return false;
      const parsed = ipaddr.parse(address);
      return networks.some((network) => parsed.kind() === network[0].kind() && parsed.match(network));
    },
  };
}

/** Which proxies are trusted to name the address of a client. */
export interface ProxyPolicy {
  readonly trusted: AddressSet;
  /** `x-real-ip` is used when `x-forwarded-for` names no client. */
  readonly allowRealIpFallback: boolean;
}

/** The policy of a `gateway` section. Absent and empty lists trust no proxy. */
export function proxyPolicy(section: {
  readonly trustedProxies?: readonly string[];
  readonly allowRealIpFallback?: boolean;
}): ProxyPolicy {
  const { trustedProxies = [], allowRealIpFallback = false } = section;
  return { trusted: compileAddresses(trustedProxies), allowRealIpFallback };
}

/**
 * Resolves the address of the client, behind a trusted proxy from its headers.
 * @param headers as received: never from `canonicalHeaders`, which would let a client send a header under another name
 */
export function resolvePeer(
  remoteAddress: string | undefined,
  headers: IncomingHttpHeaders,
  { trusted, allowRealIpFallback }: ProxyPolicy,
): Peer {
  const text = remoteAddress ?? "";
  const peer = canonicalAddress(text);
  if (trusted.empty || peer === undefined || !trusted.contains(peer))
    return { remoteAddress: peer ?? text, headers, clientAddress: peer, viaProxy: false };
  const forwarded = forwardedClient(headers["x-forwarded-for"], trusted);
  const clientAddress = forwarded ?? (allowRealIpFallback ? realIp(headers["x-real-ip"]) : undefined);
  return { remoteAddress: peer, headers, clientAddress, viaProxy: true };
}

/** The right-most hop that is not a trusted proxy; entries that are not addresses are skipped. */
function forwardedClient(value: string | string[] | undefined, trusted: AddressSet): string | undefined {
  const list = Array.isArray(value) ? value.join(",") : value;
  if (list === undefined) return undefined;
  let end = list.length;
  for (let hops = 0; end >= 0 && hops < MAX_HOPS; hops++) {
    const comma = end === 0 ? -1 : list.lastIndexOf(",", end - 1);
    const start = comma + 1;
    const hop = end - start > MAX_TEXT ? undefined : canonicalAddress(list.slice(start, end));
    if (hop !== undefined && !trusted.contains(hop)) return hop;
    end = comma;
  }
  return undefined;
}

/** A header sent twice names no client. */
function realIp(value: string | string[] | undefined): string | undefined {
  if (!Array.isArray(value)) return value === undefined ? undefined : canonicalAddress(value);
  return value.length === 1 && value[0] !== undefined ? canonicalAddress(value[0]) : undefined;
}

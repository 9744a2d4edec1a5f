/** Which addresses are public. Pure. Spec: http/responses.md §4, "URL fetch guard". */
import ipaddr from "ipaddr.js";
import { isIP } from "node:net";

/**
 * Choice: public by its range, but it answers machines in one provider's data centres with what they are set up with.
 */
const PLATFORM_ADDRESSES = ["168.63.129.16"];

/**
 * The address to connect to when `text` is a public one, in its usual spelling; an IPv4 address mapped into IPv6 as the IPv4
 * address it is. Only global unicast is public, and nothing that carries a private IPv4 address.
 * @param text as a resolver or a canonical URL has it; IPv6 without brackets. Legacy spellings and zones are not public.
 */
export function publicAddress(text: string): string | undefined {
  if (isIP(text) === 4) return publicV4(ipaddr.IPv4.parse(text));
  return isIP(text) === 6 && !text.includes("%") ? publicV6(ipaddr.IPv6.parse(inGroups(text))) : undefined;
}

/** Without dots: the library takes `::8.8.8.8` for a mapped address, which it is not. */
function inGroups(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function publicV4(address: ipaddr.IPv4): string | undefined {
  const text = address.toString();
  return address.range() === "unicast" && !PLATFORM_ADDRESSES.includes(text) ? text : undefined;
}

function publicV6(address: ipaddr.IPv6): string | undefined {
  if (address.isIPv4MappedAddress()) return publicV4(address.toIPv4Address());
  const carried = carriedV4(address.parts);
  if (carried && publicV4(carried) === undefined) return undefined;
  return isNat64(address.parts) || isGlobalUnicast(address) ? address.toString() : undefined;
}

/** 2000::/3 without what is set aside in it: 6to4, Teredo, documentation and so on. All else is not handed out. */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return (address.parts[0] ?? 0) >> 13 === 1 && address.range() === "unicast";
}

/** 64:ff9b::/96. Choice: passes for public IPv4 addresses, since networks without IPv4 reach them so; its local-use sister does not. */
function isNat64(parts: readonly number[]): boolean {
  return [0x64, 0xff9b, 0, 0, 0, 0].every((part, index) => parts[index] === part);
}

/** The IPv4 address in the last 32 bits, of NAT64 and of ISATAP interface ids (`0:5efe`, with any of the two flag bits). */
function carriedV4(parts: readonly number[]): ipaddr.IPv4 | undefined {
  const [flags = 0, marker = 0, high = 0, low = 0] = parts.slice(4);
  const isIsatap = (flags & 0xfc_ff) === 0 && marker === 0x5e_fe;
  if (!isIsatap && !isNat64(parts)) return undefined;
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

/** Which addresses are public, and which share a network. Pure. Spec: http/responses.md §4, "URL fetch guard". */
import ipaddr from "ipaddr.js";
import { isIP } from "node:net";

/**
 * Choice: this address is refused although its range is public: in one provider's data centres it serves machine
 * settings.
 */
const PLATFORM_ADDRESSES = ["168.63.129.16"];

/**
 * The address to connect to if `text` is a public address, in canonical spelling; an IPv4-mapped IPv6 address as its IPv4
 * address. Only global unicast is public. An address that contains a private IPv4 address is not public.
 * @param text from a resolver or a canonical URL; IPv6 without brackets. Legacy spellings and zones are not public.
 */
export function publicAddress(text: string): string | undefined {
  if (isIP(text) === 4) return publicV4(ipaddr.IPv4.parse(text));
  return isIP(text) === 6 && !text.includes("%") ? publicV6(ipaddr.IPv6.parse(inGroups(text))) : undefined;
}

/** IPv6 in groups without dots: the library wrongly parses `::8.8.8.8` as a mapped address. */
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

/** Whether the address is in 2000::/3, outside of the reserved ranges (6to4, Teredo, documentation and so on). */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return (address.parts[0] ?? 0) >> 13 === 1 && address.range() === "unicast";
}

/**
 * Whether the prefix is 64:ff9b::/96. Choice: allowed, because IPv6-only networks need it; the local-use prefix is
 * refused.
 */
function isNat64(parts: readonly number[]): boolean {
  return [0x64, 0xff9b, 0, 0, 0, 0].every((part, index) => parts[index] === part);
}

/** The IPv4 address in the last 32 bits of NAT64 addresses and ISATAP interface ids (`0:5efe`, with any of the two flag bits). */
function carriedV4(parts: readonly number[]): ipaddr.IPv4 | undefined {
  const [flags = 0, marker = 0, high = 0, low = 0] = parts.slice(4);
  const isIsatap = (flags & 0xfc_ff) === 0 && marker === 0x5e_fe;
  if (!isIsatap && !isNat64(parts)) return undefined;
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

/**
 * What limits per address count: an IPv4 address, or the /64 network of an IPv6 address, which one customer has as a whole.
 * Any other text counts as it is.
 */
export function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":");
}

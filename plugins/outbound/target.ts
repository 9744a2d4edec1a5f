/** Where a fetch goes, decided on the canonical URL that is also the one connected to. Pure. Spec: http/responses.md §4. */
import { isIP } from "node:net";
import { publicAddress } from "./address.ts";
import { canonicalHost, type HostRule, isAllowed, isInsideName, parseUrl } from "./host-rules.ts";
import { refuse } from "./refusal.ts";

/** A URL that may be asked, as far as its text tells. */
export interface Target {
  readonly url: URL;
  /** Public, where the host is an address; a name is still to be resolved. */
  readonly address: string | undefined;
}

/**
 * @param text as somebody wrote it
 * @param from where a redirect came from: `text` may be relative to it
 * @throws GatewayError `INVALID_REQUEST` with an `OutboundRefusalCode`
 */
export function targetOf(text: string, rules: readonly HostRule[], from?: URL): Target {
  const url = canonicalUrl(text, from);
  const host = url.hostname;
  if (!isAllowed(rules, url))
    refuse("HOST_NOT_ALLOWED", `"${host}${url.pathname}" is not among the hosts and paths that may be asked`);
  if (isInsideName(host)) refuse("ADDRESS_NOT_PUBLIC", `"${host}" is a name inside a network; ask a public host`);
  const literal = host.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) === 0) return { url, address: undefined };
  const address = publicAddress(literal);
  if (address === undefined) refuse("ADDRESS_NOT_PUBLIC", `"${literal}" is no public address; ask a public host`);
  if (isIP(literal) === 4 && host !== from?.hostname && !isPlain(text, host))
    refuse("URL_INVALID", `write the address as ${host}: other spellings of it are not taken`);
  return { url, address };
}

function canonicalUrl(text: string, from: URL | undefined): URL {
  const url = parseUrl(text, from);
  if (url === undefined) return refuse("URL_INVALID", "this is not a URL; write it as https://host/path");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    refuse("URL_INVALID", `only http: and https: can be fetched, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    refuse("URL_INVALID", "a URL with a user name or password is not taken; leave them out");
  if (url.port === "0") refuse("URL_INVALID", "port 0 cannot be asked; leave it out or name another");
  const host = canonicalHost(url.hostname);
  if (host === "" || host.startsWith(".") || host.includes(".."))
    refuse("URL_INVALID", "the host of the URL has an empty part; correct it");
  url.hostname = host;
  return url;
}

/** Whether an IPv4 address stands in the text as it will be used: octal, hexadecimal and short forms hide what they mean. */
function isPlain(text: string, address: string): boolean {
  const start = /^\s*(?:https?:)?\/\/([0-9.]+)(?::[0-9]*)?(?:[/?#]|\s*$)/i.exec(text);
  return start?.[1] === address;
}

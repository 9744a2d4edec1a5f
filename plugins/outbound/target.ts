/** Checks the destination of a fetch; the checked canonical URL is also the one that is fetched. Pure. Spec: http/responses.md §4. */
import { isIP } from "node:net";
import { canonicalHost, type HostRule, isAllowed, isInsideName, parseUrl, publicAddress } from "@svc/kit/net";
import { refuse } from "./refusal.ts";

/** A URL whose text passed all checks. */
export interface Target {
  readonly url: URL;
  /** The public address if the host is an address; `undefined` for a name, which is not resolved yet. */
  readonly address: string | undefined;
}

/**
 * @param text the URL as given
 * @param from URL of a redirect; `text` may be relative to it
 * @throws GatewayError `INVALID_REQUEST` with an `OutboundRefusalCode`
 */
export function targetOf(text: string, rules: readonly HostRule[], from?: URL): Target {
  const url = canonicalUrl(text, from);
  const host = url.hostname;
  if (!isAllowed(rules, url))
    refuse("HOST_NOT_ALLOWED", `"${host}${url.pathname}" is not among the allowed hosts and paths`);
  if (isInsideName(host)) refuse("ADDRESS_NOT_PUBLIC", `"${host}" is a name inside a network; use a public host`);
  const literal = host.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) === 0) return { url, address: undefined };
  const address = publicAddress(literal);
  if (address === undefined) refuse("ADDRESS_NOT_PUBLIC", `"${literal}" is not a public address; use a public host`);
  if (isIP(literal) === 4 && host !== from?.hostname && !isPlain(text, host))
    refuse("URL_INVALID", `write the address as ${host}: other spellings are not allowed`);
  return { url, address };
}

function canonicalUrl(text: string, from: URL | undefined): URL {
  const url = parseUrl(text, from);
  if (url === undefined) return refuse("URL_INVALID", "this is not a URL; use the form https://host/path");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    refuse("URL_INVALID", `only http: and https: can be fetched, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    refuse("URL_INVALID", "a URL with a user name or password is not allowed; remove them");
  if (url.port === "0") refuse("URL_INVALID", "port 0 is not allowed; remove it or use another port");
  const host = canonicalHost(url.hostname);
  if (host === "" || host.startsWith(".") || host.includes(".."))
    refuse("URL_INVALID", "the host of the URL has an empty part; use the form https://host/path");
  url.hostname = host;
  return url;
}

/** Whether an IPv4 address is written in the form that is used: octal, hexadecimal and short forms hide the real address. */
function isPlain(text: string, address: string): boolean {
  const start = /^\s*(?:https?:)?\/\/([0-9.]+)(?::[0-9]*)?(?:[/?#]|\s*$)/i.exec(text);
  return start?.[1] === address;
}

/** Which hosts pages may use, and the addresses to connect to. */
import {
  canonicalHost,
  hostRules,
  inOrder,
  isAllowed,
  isInsideName,
  parseUrl,
  publicAddress,
  type Resolve,
} from "@svc/kit/net";
import { unavailable } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { isIP } from "node:net";
import type { BrowserConfig } from "../config.ts";

/** A host that passed all checks. */
export interface VettedHost {
  readonly port: number;
  /** In the order in which to try them. */
  readonly addresses: readonly string[];
}

/** Checks the host of a URL and resolves it once. */
export type Vet = (url: URL) => Promise<VettedHost>;

/**
 * @throws (the returned function) GatewayError `INVALID_REQUEST` with `HOST_NOT_ALLOWED` or `ADDRESS_NOT_PUBLIC`;
 * `UNAVAILABLE` if the name has no address
 */
export function createVet(policy: BrowserConfig["ssrfPolicy"], resolve: Resolve): Vet {
  const rules = hostRules(policy.hostnameAllowlist);
  const trusted = new Set(policy.allowedHostnames.map((name) => hostOf(name)));
  const isOpen = policy.allowPrivateNetwork || policy.dangerouslyAllowPrivateNetwork;

  return async (url) => {
    const host = canonicalHost(url.hostname);
    const port = Number(url.port) || (url.protocol === "https:" || url.protocol === "wss:" ? 443 : 80);
    if (!isAllowed(rules, url))
      throw refusal("HOST_NOT_ALLOWED", `"${host}" is not in browser.ssrfPolicy.hostnameAllowlist`);
    const literal = host.replace(/^\[(.*)\]$/, "$1");
    const checked = !isOpen && !trusted.has(host);
    if (checked && isInsideName(host)) throw notPublic(`"${host}" is a name inside a network`);
    if (isIP(literal) !== 0) {
      const address = checked ? publicAddress(literal) : literal;
      if (address === undefined) throw notPublic(`"${literal}" is not a public address`);
      return { port, addresses: [address] };
    }
    const found = await resolve(host).catch((cause: unknown) => unavailable(`${host} cannot be resolved`, { cause }));
    if (found.length === 0) unavailable(`${host} has no address`);
    const usable = found.map((one) => (checked ? publicAddress(one) : one));
    const addresses = usable.filter((one) => one !== undefined);
    // One private address among others is enough to refuse: the page could make the browser use it.
    if (addresses.length < found.length) throw notPublic(`"${host}" resolves to an address that is not public`);
    return { port, addresses: inOrder(addresses) };
  };
}

function hostOf(name: string): string {
  const text = isIP(name) === 6 ? `[${name}]` : name;
  return canonicalHost(parseUrl(`http://${text}`)?.hostname ?? "");
}

function notPublic(what: string): Error {
  return refusal(
    "ADDRESS_NOT_PUBLIC",
    `${what}; use a public host, or allow this one with browser.ssrfPolicy.allowedHostnames`,
  );
}

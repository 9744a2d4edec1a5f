/** The address under which a client reached the gateway. Pure. */
import type { Peer } from "../../auth/client-address.ts";

/** A host name or address, with a port; the longest host name has 253 characters. */
const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * Choice: scheme from the socket, or from `x-forwarded-proto` of a trusted proxy; host and port from the `Host` header.
 * @returns e.g. `https://gateway.example:8443`; `undefined`: the client sent no usable `Host` header
 */
export function reachedAddress({ headers, viaProxy }: Peer, isEncrypted: boolean): string | undefined {
  const { host = "" } = headers;
  if (!HOST.test(host)) return undefined;
  const isSecure = isEncrypted || (viaProxy && headers["x-forwarded-proto"] === "https");
  return `${isSecure ? "https" : "http"}://${host.toLowerCase()}`;
}

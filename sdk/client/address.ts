/** Addresses of gateways as people write them. Pure. */

/** Parses a `ws:` or `wss:` URL; `http:` and `https:` are accepted as the same. `undefined`: not an address of a gateway. */
export function gatewayAddress(text: string): URL | undefined {
  const written = text.replace(/^http(?=s?:\/\/)/i, "ws");
  return /^wss?:\/\//i.test(written) && URL.canParse(written) ? new URL(written) : undefined;
}

/** Whether traffic to this host stays on this machine. @param hostname of a URL, which has one spelling for each address */
export function isLoopbackHost(hostname: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/.test(hostname);
}

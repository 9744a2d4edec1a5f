/** Addresses of gateways as people write them. Pure. */

/** `ws:` or `wss:`, which `http:` and `https:` mean as well; `undefined`: it is no address of a gateway. */
export function gatewayAddress(text: string): URL | undefined {
  const written = text.replace(/^http(?=s?:\/\/)/i, "ws");
  return /^wss?:\/\//i.test(written) && URL.canParse(written) ? new URL(written) : undefined;
}

/** Whether what is sent to this host stays on this machine. @param hostname of a URL, which has one spelling for each address */
export function isLoopbackHost(hostname: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/.test(hostname);
}

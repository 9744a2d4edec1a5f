/** The other gateways of one that shares its state with none. */
import type { Peers } from "@svc/sdk/gateway";

export function noPeers(): Peers {
  return {
    self: undefined,
    share: () => undefined,
    shared: () => [],
    follow: () => () => undefined,
    answer: () => () => undefined,
    ask: () => Promise.reject(new Error("there are no other gateways")),
    tell: () => undefined,
  };
}

/** Which gateway this machine lends itself to, and that no credential travels in clear. */
import { networkInterfaces } from "node:os";
import { invalidRequest } from "@svc/sdk";
import type { CommandTarget } from "@svc/sdk/cli";
import { gatewayAddress, isLoopbackHost } from "@svc/sdk/client";

/** A gateway's secret that is shared by all who know it. */
export interface SharedSecret {
  readonly token?: string;
  readonly password?: string;
}

export interface NodeTarget {
  /** `ws://` or `wss://` */
  readonly url: string;
  readonly tlsFingerprint?: string;
  /** `undefined`: the device has nothing but its own token. */
  readonly secret: SharedSecret | undefined;
}

/** An address to write as an example. */
const EXAMPLE_PORT = "18789";

/**
 * What the command line means, for a node.
 * @param addresses of this machine
 * @throws GatewayError `INVALID_REQUEST`: no address, or one that would carry the credential in clear over a network
 */
export function nodeTarget(
  { url: text, token, password, tlsFingerprint }: CommandTarget,
  isInsecure: boolean,
  addresses: readonly string[] = ownAddresses(),
): NodeTarget {
  const url =
    gatewayAddress(text) ??
    invalidRequest(
      `${JSON.stringify(text).slice(0, 200)} is no address of a gateway\nNext: write it like --url ws://127.0.0.1:${EXAMPLE_PORT}`,
    );
  const isHere = isLoopbackHost(url.hostname) || addresses.includes(url.hostname.replace(/^\[|\]$/g, ""));
  if (url.protocol === "ws:" && !isHere && !isInsecure) {
    invalidRequest(
      `${url.origin} is another machine, and ws:// would carry the credential, and all that runs here, in clear\n` +
        `Next: use wss://, or a tunnel (ssh -N -L ${EXAMPLE_PORT}:127.0.0.1:${EXAMPLE_PORT} ${url.hostname}), or --insecure where nobody else listens`,
    );
  }
  const secret = { ...(token ? { token } : {}), ...(password ? { password } : {}) };
  return {
    url: url.href.replace(/\/$/, ""),
    ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }),
    secret: token || password ? secret : undefined,
  };
}

/** Of the network interfaces of this machine. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}

/** Determines the gateway to connect to, and refuses to send credentials unencrypted. */
import { networkInterfaces } from "node:os";
import { invalidRequest } from "@svc/sdk";
import type { CommandTarget } from "@svc/sdk/cli";
import { gatewayAddress, isLoopbackHost } from "@svc/sdk/client";

/** The gateway's shared secret: a token or a password. */
export interface SharedSecret {
  readonly token?: string;
  readonly password?: string;
}

export interface NodeTarget {
  /** `ws://` or `wss://` */
  readonly url: string;
  readonly tlsFingerprint?: string;
  /** `undefined`: no secret was given; the device uses its device token. */
  readonly secret: SharedSecret | undefined;
}

/** Port in example addresses. */
const EXAMPLE_PORT = "18789";

/**
 * The target given on the command line.
 * @param addresses addresses of this machine
 * @throws GatewayError `INVALID_REQUEST`: the address is invalid, or the credential would cross a network unencrypted
 */
export function nodeTarget(
  { url: text, token, password, tlsFingerprint }: CommandTarget,
  isInsecure: boolean,
  addresses: readonly string[] = ownAddresses(),
): NodeTarget {
  const url =
    gatewayAddress(text) ??
    invalidRequest(
      `${JSON.stringify(text).slice(0, 200)} is not a valid gateway address\nNext: write it like --url ws://127.0.0.1:${EXAMPLE_PORT}`,
    );
  const isHere = isLoopbackHost(url.hostname) || addresses.includes(url.hostname.replace(/^\[|\]$/g, ""));
  if (url.protocol === "ws:" && !isHere && !isInsecure) {
    invalidRequest(
      `${url.origin} leads to another machine, where ws:// would send the credential, all commands and all output unencrypted\n` +
        `Next: use wss://, or a tunnel (ssh -N -L ${EXAMPLE_PORT}:127.0.0.1:${EXAMPLE_PORT} ${url.hostname}), or --insecure on a network that nobody else can read`,
    );
  }
  const secret = { ...(token ? { token } : {}), ...(password ? { password } : {}) };
  return {
    url: url.href.replace(/\/$/, ""),
    ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }),
    secret: token || password ? secret : undefined,
  };
}

/** Addresses of the network interfaces of this machine. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}

/** Which gateway this machine lends itself to, and with which credential. Spec: http/auth.md §2 "Client/CLI-side order". */
import { readFileSync } from "node:fs";
import { homedir, networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import { invalidRequest } from "@svc/sdk";

type Environment = Readonly<Record<string, string | undefined>>;

export interface TargetFlags {
  readonly url?: string;
  readonly token?: string;
  readonly password?: string;
  readonly insecure?: boolean;
}

/** A gateway's secret that is shared by all who know it. */
export interface SharedSecret {
  readonly token?: string;
  readonly password?: string;
}

export interface NodeTarget {
  /** `ws://` or `wss://` */
  readonly url: string;
  /** `undefined`: the device has nothing but its own token. */
  readonly secret: SharedSecret | undefined;
}

/** `SVC_STATE_DIR`, else `.svc` in the home directory (`SVC_HOME`). Spec: http/config.md §1. */
export function stateDirectory(env: Environment, home: string = homedir()): string {
  const expand = (path: string, of: string) => resolve(path.replace(/^~(?=\/|$)/, () => of));
  const own = env["SVC_HOME"]?.trim();
  const base = own ? expand(own, home) : home;
  return expand(env["SVC_STATE_DIR"]?.trim() || join(base, ".svc"), base);
}

const DEFAULT_PORT = "18789";

/**
 * Flags, then the environment, then what a gateway left in the state directory. Choice: its token is used only for a gateway on this
 * machine, which is where it came from.
 * @param addresses of this machine
 * @throws GatewayError `INVALID_REQUEST`: no address, or one that would carry the credential in clear over a network
 */
export function resolveNodeTarget(
  flags: TargetFlags,
  env: Environment,
  stateDir: string,
  addresses: readonly string[] = ownAddresses(),
): NodeTarget {
  const port = present(env["SVC_GATEWAY_PORT"]);
  const left = flags.url === undefined && port === undefined ? lastStarted(stateDir) : undefined;
  const url = normalised(present(flags.url) ?? left ?? `ws://127.0.0.1:${port ?? DEFAULT_PORT}`);
  const isHere = isLoopback(url.hostname) || addresses.includes(url.hostname.replace(/^\[|\]$/g, ""));
  if (url.protocol === "ws:" && !isHere && flags.insecure !== true) {
    invalidRequest(
      `${url.origin} is another machine, and ws:// would carry the credential, and all that runs here, in clear\n` +
        `Next: use wss://, or a tunnel (ssh -N -L ${DEFAULT_PORT}:127.0.0.1:${DEFAULT_PORT} ${url.hostname}), or --insecure where nobody else listens`,
    );
  }
  const token = present(flags.token) ?? present(env["SVC_GATEWAY_TOKEN"]);
  const password = present(flags.password) ?? present(env["SVC_GATEWAY_PASSWORD"]);
  const kept = token === undefined && password === undefined && isHere ? keptToken(stateDir) : undefined;
  const secret = { ...definedEntry("token", token ?? kept), ...definedEntry("password", password) };
  return { url: url.href.replace(/\/$/, ""), secret: Object.keys(secret).length === 0 ? undefined : secret };
}

function normalised(text: string): URL {
  const written = text.replace(/^http(?=s?:\/\/)/i, "ws");
  const isAddress = /^wss?:\/\//i.test(written) && URL.canParse(written);
  return isAddress
    ? new URL(written)
    : invalidRequest(
        `${JSON.stringify(text).slice(0, 200)} is no address of a gateway\nNext: write it like --url ws://127.0.0.1:${DEFAULT_PORT}`,
      );
}

/** Of the network interfaces of this machine. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}

/** Whether what is sent to this host stays on this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function present(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}

function definedEntry(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}

/** Address of the gateway that was last started from this state directory. */
function lastStarted(stateDir: string): string | undefined {
  try {
    const { url } = JSON.parse(readFileSync(join(stateDir, "startup-report.json"), "utf8")) as { url?: unknown };
    return typeof url === "string" ? url : undefined;
  } catch {
    return undefined; // none was started here
  }
}

function keptToken(stateDir: string): string | undefined {
  try {
    return present(readFileSync(join(stateDir, "credentials", "gateway-token"), "utf8"));
  } catch {
    return undefined;
  }
}

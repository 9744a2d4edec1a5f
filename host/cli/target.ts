/** Which gateway a command talks to, and with which secret. Spec: http/auth.md §2 "Client/CLI-side order". */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gatewayAddress, isLoopbackHost } from "@svc/sdk/client";
import type { GatewaySection } from "@svc/host/local";
import { type Environment, readConfigFile, readKeptToken, readLocalKey, resolvePaths } from "@svc/host/state";

export interface TargetFlags {
  readonly url?: string;
  readonly token?: string;
  readonly password?: string;
  readonly tlsFingerprint?: string;
}

export interface Target {
  readonly url: string;
  /** SHA-256 of the certificate that is trusted. Absent: those this machine trusts. */
  readonly tlsFingerprint?: string;
  readonly token?: string;
  readonly password?: string;
  /** Whoever typed the command named the credential: it is used and no other. */
  readonly isExplicit: boolean;
  /** Proof of access to the state directory, for a gateway on this machine that knows none of the above. */
  readonly localKey?: string;
  /** Where the device of this machine is kept, and what gateways gave it. */
  readonly identityDir: string;
}

export const DEFAULT_PORT = "18789";

/** What the gateway that was last started from this state directory left of itself. */
export function lastStarted(startupReport: string): { readonly url?: string; readonly tlsFingerprint?: string } {
  try {
    const { url, tlsFingerprint } = JSON.parse(readFileSync(startupReport, "utf8")) as Record<string, unknown>;
    return {
      ...(typeof url === "string" ? { url } : {}),
      ...(typeof tlsFingerprint === "string" ? { tlsFingerprint } : {}),
    };
  } catch {
    return {}; // never started
  }
}

/** Blank is unset, as for the gateway. What is no text is told by `svc config validate`. */
function present(value: unknown): string | undefined {
  return (typeof value === "string" && value.trim()) || undefined;
}

/** Flags, then environment, then configuration, then what the gateway left in the state directory. */
export async function resolveTarget(flags: TargetFlags, env: Environment): Promise<Target> {
  const paths = resolvePaths(env);
  const { resolved } = await readConfigFile(paths.configPath, env);
  const { port, auth, bind, customBindHost, tls } = (resolved["gateway"] ?? {}) as GatewaySection; // a wrong shape shows in use
  const wanted = present(env["SVC_GATEWAY_PORT"]) ?? port;
  const host = bind === "custom" && customBindHost ? customBindHost : "127.0.0.1";
  const { url: last, tlsFingerprint: kept } = lastStarted(paths.startupReport);
  const usual =
    (wanted ? undefined : last) ?? `${tls?.enabled === true ? "wss" : "ws"}://${host}:${wanted || DEFAULT_PORT}`;
  const url = flags.url ?? usual;
  const own = [usual, last].some((here) => here !== undefined && isSame(url, here)); // what lies here is for that one
  const named = {
    token: flags.token ?? present(env["SVC_GATEWAY_TOKEN"]),
    password: flags.password ?? present(env["SVC_GATEWAY_PASSWORD"]),
  };
  const token = named.token ?? (own ? (present(auth?.token) ?? readKeptToken(paths.credentialsDir)) : undefined);
  const password = named.password ?? (own ? present(auth?.password) : undefined);
  const tlsFingerprint =
    flags.tlsFingerprint ??
    present(env["SVC_GATEWAY_TLS_FINGERPRINT"]) ??
    (own && gatewayAddress(url)?.protocol === "wss:" ? kept : undefined);
  const localKey = own ? readLocalKey(paths.credentialsDir) : undefined;
  return {
    url,
    isExplicit: Boolean(named.token ?? named.password),
    identityDir: join(paths.stateDir, "identity"),
    ...(tlsFingerprint ? { tlsFingerprint } : {}),
    ...(token ? { token } : {}),
    ...(password ? { password } : {}),
    ...(localKey ? { localKey } : {}),
  };
}

/**
 * Whether both are the gateway of this state directory: the same port of this machine. Another port may be a tunnel, or
 * somebody else's program, which must not be told what lies here.
 */
function isSame(url: string, own: string): boolean {
  const [given, here] = [gatewayAddress(url), gatewayAddress(own)];
  if (!given || !here || portOf(given) !== portOf(here)) return false;
  return given.hostname === here.hostname || [given, here].every(({ hostname }) => isLoopbackHost(hostname));
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === "wss:" ? "443" : "80");
}

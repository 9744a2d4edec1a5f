/** Determines which gateway a command connects to, and with which secret. Spec: http/auth.md §2 "Client/CLI-side order". */
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
  /** SHA-256 of the certificate to trust. Absent: the certificates this machine trusts. */
  readonly tlsFingerprint?: string;
  readonly token?: string;
  readonly password?: string;
  /** The user named the credential by flag or environment variable; no other credential is tried. */
  readonly isExplicit: boolean;
  /** Proof of access to the state directory, for a gateway on this machine that accepts none of the above. */
  readonly localKey?: string;
  /** Directory of this machine's device key and the tokens that gateways issued to it. */
  readonly identityDir: string;
}

export const DEFAULT_PORT = "18789";

/** Address and certificate of the gateway last started from this state directory. */
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

/** A blank value counts as unset, as in the gateway. `svc config validate` reports a value that is not a string. */
function present(value: unknown): string | undefined {
  return (typeof value === "string" && value.trim()) || undefined;
}

/** Order: flags, environment, configuration, then the files the gateway left in the state directory. */
export async function resolveTarget(flags: TargetFlags, env: Environment): Promise<Target> {
  const paths = resolvePaths(env);
  const { resolved } = await readConfigFile(paths.configPath, env);
  const { port, auth, bind, customBindHost, tls } = (resolved["gateway"] ?? {}) as GatewaySection; // an invalid value fails when used
  const wanted = present(env["SVC_GATEWAY_PORT"]) ?? port;
  const host = bind === "custom" && customBindHost ? customBindHost : "127.0.0.1";
  const { url: last, tlsFingerprint: kept } = lastStarted(paths.startupReport);
  const usual =
    (wanted ? undefined : last) ?? `${tls?.enabled === true ? "wss" : "ws"}://${host}:${wanted || DEFAULT_PORT}`;
  const url = flags.url ?? usual;
  const own = [usual, last].some((here) => here !== undefined && isSame(url, here)); // the stored credentials are for this gateway
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
 * Whether both URLs mean the same port of the same host; all loopback names are one host. Another port may be a tunnel or
 * a foreign program, which must not receive the stored credentials.
 */
function isSame(url: string, own: string): boolean {
  const [given, here] = [gatewayAddress(url), gatewayAddress(own)];
  if (!given || !here || portOf(given) !== portOf(here)) return false;
  return given.hostname === here.hostname || [given, here].every(({ hostname }) => isLoopbackHost(hostname));
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === "wss:" ? "443" : "80");
}

/** Which gateway a command talks to, and with which secret. Spec: http/auth.md §2 "Client/CLI-side order". */
import { readFileSync } from "node:fs";
import { type ClientOptions, connect, type GatewayClient } from "@svc/sdk/client";
import { GatewayError, isGatewayError } from "@svc/sdk/errors";
import { readKeptToken } from "../auth/secret.ts";
import { readConfigFile } from "../config/file.ts";
import type { GatewaySection } from "../config/host-schema.ts";
import { type Environment, resolvePaths } from "../config/paths.ts";
import { VERSION } from "../version.ts";
import { Unreachable, WrongUsage } from "./output.ts";

export interface TargetFlags {
  readonly url?: string;
  readonly token?: string;
  readonly password?: string;
}

export interface Target {
  readonly url: string;
  readonly token?: string;
  readonly password?: string;
}

const DEFAULT_PORT = "18789";

/** Address of the gateway that was last started from this state directory. */
function lastStarted(startupReport: string): string | undefined {
  try {
    const { url } = JSON.parse(readFileSync(startupReport, "utf8")) as { url?: unknown };
    return typeof url === "string" ? url : undefined;
  } catch {
    return undefined; // never started
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
  const { port, auth, bind, customBindHost } = (resolved["gateway"] ?? {}) as GatewaySection; // a wrong shape shows in use
  const wanted = present(env["SVC_GATEWAY_PORT"]) ?? port;
  const host = bind === "custom" && customBindHost ? customBindHost : "127.0.0.1";
  const url =
    flags.url ?? (wanted ? undefined : lastStarted(paths.startupReport)) ?? `ws://${host}:${wanted || DEFAULT_PORT}`;
  const token =
    flags.token ?? present(env["SVC_GATEWAY_TOKEN"]) ?? present(auth?.token) ?? readKeptToken(paths.credentialsDir);
  const password = flags.password ?? present(env["SVC_GATEWAY_PASSWORD"]) ?? present(auth?.password);
  return { url, ...(token ? { token } : {}), ...(password ? { password } : {}) };
}

/** What the client says when no gateway is there, in contrast to one that refuses. */
const NOBODY = /^(cannot reach|no hello from|closed by) /;

/** @throws WrongUsage the address is none; Unreachable with the command that starts a gateway; GatewayError its refusal */
export async function connectTo(target: Target, options: Partial<ClientOptions> = {}): Promise<GatewayClient> {
  if (!/^(wss?|https?):\/\//i.test(target.url) || !URL.canParse(target.url))
    throw new WrongUsage(`"${target.url}" is no address of a gateway; write it like ws://127.0.0.1:${DEFAULT_PORT}`);
  try {
    return await connect({ ...target, ...options, client: { version: VERSION, ...options.client } });
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    if (error.code === "NOT_PAIRED" && !target.token && !target.password) throw withoutCredential(error);
    if (/^unauthorized: gateway (token|password) (mismatch|missing)/.test(error.message)) throw wrongCredential(error);
    if (error.code !== "UNAVAILABLE" || !NOBODY.test(error.message)) throw error;
    const other = lastStarted(resolvePaths().startupReport);
    const known = other !== undefined && other !== target.url ? ` (the last one started here: --url ${other})` : "";
    const next = `start it with: svc gateway run, or name another one with --url${known}`;
    throw new Unreachable("UNAVAILABLE", `${error.message}\nNext: ${next}`, { cause: error });
  }
}

function wrongCredential({ code, message, details }: GatewayError): GatewayError {
  const next = "pass --token or --password with the right one, or unset SVC_GATEWAY_TOKEN and SVC_GATEWAY_PASSWORD";
  return new GatewayError(code, `${message}\nNext: ${next}`, { details });
}

/** A gateway that is told no secret asks for a device instead, which a person at a command line does not have. */
function withoutCredential({ code, message, details }: GatewayError): GatewayError {
  const next =
    "pass --token, or set SVC_GATEWAY_TOKEN; the token is in credentials/gateway-token of the gateway's state directory";
  return new GatewayError(code, `${message}: no token or password was given\nNext: ${next}`, { details });
}

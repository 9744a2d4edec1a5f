/** Which gateway a command talks to, and with which secret. Spec: http/auth.md §2 "Client/CLI-side order". */
import { readFileSync } from "node:fs";
import { type ClientOptions, connect, type GatewayClient } from "@svc/sdk/client";
import { isGatewayError, GatewayError } from "@svc/sdk";
import { readKeptToken } from "../auth/secret.ts";
import { readConfigFile } from "../config/file.ts";
import type { GatewaySection } from "../config/host-schema.ts";
import { type Environment, resolvePaths } from "../config/paths.ts";
import { VERSION } from "../version.ts";

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

/** Flags, then environment, then configuration, then what the gateway left in the state directory. */
export async function resolveTarget(flags: TargetFlags, env: Environment): Promise<Target> {
  const paths = resolvePaths(env);
  const { resolved } = await readConfigFile(paths.configPath, env);
  const { port, auth } = (resolved["gateway"] ?? {}) as GatewaySection; // only three fields are looked at, each checked by use
  const wanted = env["SVC_GATEWAY_PORT"]?.trim() || port;
  const url =
    flags.url ?? (wanted ? undefined : lastStarted(paths.startupReport)) ?? `ws://127.0.0.1:${wanted || DEFAULT_PORT}`;
  const token = flags.token ?? (env["SVC_GATEWAY_TOKEN"]?.trim() || auth?.token || readKeptToken(paths.credentialsDir));
  const password = flags.password ?? (env["SVC_GATEWAY_PASSWORD"]?.trim() || auth?.password);
  return { url, ...(token ? { token } : {}), ...(password ? { password } : {}) };
}

/** @throws GatewayError with the command that starts a gateway when nobody answers */
export async function connectTo(target: Target, options: Partial<ClientOptions> = {}): Promise<GatewayClient> {
  try {
    return await connect({ ...target, ...options, client: { version: VERSION, ...options.client } });
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
    throw new GatewayError("UNAVAILABLE", `${error.message}\nNext: start it with: svc gateway run`, { cause: error });
  }
}

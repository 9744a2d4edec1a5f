/** The data that the host's security checks read. An invalid configuration is read as far as possible. */
import { configAt, type SecurityCheck, type SecurityHit, type SecurityView, textsOf } from "@svc/sdk/cli";
import { environmentNames, isLoadable, isLoopback, type PluginSource } from "@svc/host/local";
import { type ConfigFile, type Environment, type Paths, readKeptToken } from "@svc/host/state";
import type { Repair } from "../doctor/finding.ts";
import type { PluginsHere } from "../planned-plugins.ts";

/** How clients would authenticate after a start. */
export interface AuditedAuth {
  readonly mode: string;
  /** The secret of mode `token` or `password`, and its source. */
  readonly secret?: { readonly text: string; readonly from: "config" | "environment" | "kept"; readonly name: string };
}

/** A plugin, and where its code runs. */
export interface PlacedPlugin extends Pick<PluginSource, "manifest" | "origin" | "isBundled" | "check"> {
  readonly placement?: string;
}

export interface HostView extends SecurityView {
  readonly file: ConfigFile;
  readonly paths: Paths;
  /** The plugins that a start would load. */
  readonly plugins: readonly PlacedPlugin[];
  readonly auth: AuditedAuth;
  /** `network`: other machines reach the port unencrypted. `overlay`: through an overlay network, which encrypts. */
  readonly exposure: "none" | "overlay" | "network";
}

export interface HostHit extends SecurityHit {
  /** The repair that `--fix` makes. */
  readonly repair?: Repair;
}

export interface HostCheck extends Pick<SecurityCheck, "id" | "severity" | "why"> {
  find(view: HostView): readonly HostHit[] | Promise<readonly HostHit[]>;
}

/** @param now epoch ms */
export function hostView(here: PluginsHere, env: Environment, now: number): HostView {
  const { file, paths, sources, disabled } = here;
  const config = file.resolved;
  const plugins = sources
    .filter(isLoadable)
    .filter(({ manifest }) => manifest === undefined || !disabled.has(manifest.id));
  const auth = authOf(config, env, paths.credentialsDir);
  return { config, stateDir: paths.stateDir, now, file, paths, plugins, auth, exposure: exposureOf(config) };
}

function exposureOf(config: SecurityView["config"]): HostView["exposure"] {
  const bind = configAt(config, "gateway.bind");
  const host = configAt(config, "gateway.customBindHost");
  if (bind === "tailnet") return "overlay";
  return bind === "lan" || (bind === "custom" && typeof host === "string" && !isLoopback(host)) ? "network" : "none";
}

function authOf(config: SecurityView["config"], env: Environment, credentialsDir: string): AuditedAuth {
  const names = environmentNames(textsOf(configAt(config, "gateway.aliases")));
  const secretOf = (kind: "token" | "password"): AuditedAuth["secret"] => {
    const written = present(configAt(config, `gateway.auth.${kind}`));
    if (written !== undefined) return { text: written, from: "config", name: `gateway.auth.${kind}` };
    const name = names[kind].find((variable) => present(env[variable]) !== undefined);
    const text = name === undefined ? undefined : present(env[name]);
    return name === undefined || text === undefined ? undefined : { text, from: "environment", name };
  };
  const given = configAt(config, "gateway.auth.mode");
  const password = secretOf("password");
  const mode = typeof given === "string" ? given : password ? "password" : "token";
  if (mode === "password") return { mode, ...(password ? { secret: password } : {}) };
  if (mode !== "token") return { mode };
  const kept = readKeptToken(credentialsDir);
  const token = secretOf("token") ?? (kept ? { text: kept, from: "kept", name: "the kept token" } : undefined);
  return { mode, ...(token ? { secret: token } : {}) };
}

/** A blank value counts as unset, as in the gateway. */
function present(value: unknown): string | undefined {
  return (typeof value === "string" && value.trim()) || undefined;
}

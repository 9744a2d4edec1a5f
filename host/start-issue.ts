/**
 * Checks whether a gateway would start with a configuration file. Unlike a start, the check does not create the gateway
 * token.
 */
import { isBoundLocally } from "./auth/bind.ts";
import { resolveAuth, startRefusal } from "./auth/mode.ts";
import { readKeptToken } from "./auth/secret.ts";
import type { AuthOverrides } from "./auth/settings.ts";
import type { ConfigFile, Issue } from "./config/file.ts";
import type { Environment, Paths } from "./config/paths.ts";
import { hostConfig } from "./config/sections.ts";
import { tlsRefusal } from "./net/tls/certificate.ts";
import { webhookSettings } from "./webhooks/settings.ts";

/** What a start depends on besides the configuration file. */
export interface StartCheck {
  readonly env: Environment;
  readonly paths: Pick<Paths, "credentialsDir" | "configDir" | "stateDir" | "home">;
  readonly auth?: AuthOverrides | undefined;
}

/**
 * Why a gateway would refuse to start with this file although every key is valid. `undefined`: it would start, or a key
 * is invalid, which the check of the keys reports.
 */
export function startIssue(file: ConfigFile, { env, paths, auth }: StartCheck): Issue | undefined {
  const { config, issues } = hostConfig(file);
  if (issues.length > 0) return undefined; // the check of the keys reports them
  const message = startRefusal(config.gateway, env, auth);
  if (message !== undefined) return { path: "gateway", message };
  const tls = tlsRefusal(config.gateway.tls ?? {}, paths, Date.now());
  if (tls !== undefined) return { path: "gateway.tls", message: tls };
  const { credentialsDir, configDir } = paths;
  const { token } = resolveAuth(config.gateway, env, () => readKeptToken(credentialsDir) ?? "", auth);
  const isLocal = isBoundLocally(config.gateway);
  return webhookSettings(config.hooks, { gatewayToken: token, isLocal, configDir }).issues[0];
}

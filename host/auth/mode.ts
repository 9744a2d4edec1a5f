/** How clients authenticate: resolves the mode and the settings it relies on. Spec: §5.1, http/auth.md §1-2. Pure. */
import type { GatewaySection } from "../config/host-schema.ts";
import type { Environment } from "../config/paths.ts";
import { environmentNames } from "./aliases.ts";
import { resolveBind } from "./bind.ts";
import { compileAddresses } from "./client-address.ts";
import { reachesLoopback } from "./locality.ts";
import { type AuthOverrides, type AuthSettings, StartupRefusal } from "./settings.ts";
import type { TrustedProxySettings } from "./trusted-proxy.ts";

export { resolveBind };
export { AUTH_MODES, type AuthMode, type AuthOverrides, type AuthSettings, StartupRefusal } from "./settings.ts";

/** Blank is unset. The schema refuses a value that is not text; here it counts as unset, too. */
const present = (value: unknown) => (typeof value === "string" && value.trim()) || undefined;

/**
 * The configured mode, else `password` when a password is set, else `token`. The overrides of the start take precedence over
 * the configuration, then the environment, `SVC_` names before those of `gateway.aliases`; blank is unset.
 * Choice: overlay network identity (`gateway.auth.allowTailscale`, `gateway.tailscale`) is not offered; the schema
 * refuses those keys by name.
 * @param generateToken called only in mode `token` when no token is set anywhere.
 * @throws StartupRefusal mode `password` without a password; mode `trusted-proxy` without its header or a proxy
 */
export function resolveAuth(
  section: GatewaySection,
  env: Environment,
  generateToken: () => string,
  overrides: AuthOverrides = {},
): AuthSettings {
  const { auth = {}, aliases } = section;
  const names = environmentNames(aliases);
  const fromEnvironment = (of: readonly string[]) => of.map((name) => present(env[name])).find(Boolean);
  const token = present(overrides.token) ?? present(auth.token) ?? fromEnvironment(names.token);
  const password = present(overrides.password) ?? present(auth.password) ?? fromEnvironment(names.password);
  const mode = overrides.mode ?? auth.mode ?? (password ? "password" : "token");
  if (mode === "none") return { mode };
  if (mode === "trusted-proxy") return { mode, trustedProxy: readTrustedProxy(section) };
  if (mode === "token") return { mode, token: token ?? generateToken() };
  if (!password) {
    throw new StartupRefusal(
      "gateway.auth.mode is password, but no password is set; set gateway.auth.password or SVC_GATEWAY_PASSWORD",
    );
  }
  return { mode, password };
}

/** @returns why a gateway with this section would refuse to start, or `undefined`. Creates no token. */
export function startRefusal(
  section: GatewaySection,
  env: Environment,
  overrides: AuthOverrides = {},
): string | undefined {
  try {
    resolveBind(
      section,
      resolveAuth(section, env, () => "made at the start", overrides),
    );
    return undefined;
  } catch (error) {
    if (error instanceof StartupRefusal) return error.message;
    throw error;
  }
}

/** Spec: http/auth.md §2 "Startup outcomes". Choice: a list of proxies without a valid entry counts as empty. */
function readTrustedProxy({ auth = {}, trustedProxies = [] }: GatewaySection): TrustedProxySettings {
  const { userHeader, requiredHeaders = [], allowUsers = [] } = auth.trustedProxy ?? {};
  const secret = present(auth.trustedProxy?.secret);
  const header = present(userHeader);
  if (!header) {
    throw new StartupRefusal(
      `gateway.auth.mode is trusted-proxy and gateway.auth.trustedProxy${auth.trustedProxy ? ".userHeader is blank" : " is not set"}; set gateway.auth.trustedProxy.userHeader to the header in which the proxy names the user`,
    );
  }
  if (compileAddresses(trustedProxies).empty) {
    const what = trustedProxies.length === 0 ? "is empty" : `has no valid entry (${trustedProxies.join(", ")})`;
    throw new StartupRefusal(
      `gateway.auth.mode is trusted-proxy and gateway.trustedProxies ${what}; list the proxy's addresses there, e.g. "10.0.0.2" or "10.0.0.0/24"`,
    );
  }
  if (secret === undefined && reachesLoopback(trustedProxies)) {
    throw new StartupRefusal(
      "gateway.auth.mode is trusted-proxy and gateway.trustedProxies contains an address of this machine, so any program here could send the proxy's headers; set gateway.auth.trustedProxy.secret to the output of `openssl rand -hex 24`, and have the proxy send it in the header X-Svc-Proxy-Secret",
    );
  }
  return { userHeader: header, requiredHeaders, allowUsers, trustedProxies, ...(secret ? { secret } : {}) };
}

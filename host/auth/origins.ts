/** Pages that may connect, from the configuration. Spec: http/auth.md §7.3-7.4. Pure. */
import type { GatewaySection } from "../config/host-schema.ts";
import type { OriginPolicy } from "./locality.ts";
import type { AuthMode } from "./settings.ts";

/**
 * `gateway.controlUi.allowedOrigins`, else, if other machines can reach the gateway, its own addresses on this machine.
 * Choice: in memory only; a start never writes the configuration. Blank entries are ignored.
 */
export function effectiveOrigins(section: GatewaySection, port: number): readonly string[] {
  const { bind = "loopback", customBindHost, controlUi = {}, tls = {} } = section;
  const listed = (controlUi.allowedOrigins ?? []).map((origin) => origin.trim()).filter(Boolean);
  if (listed.length > 0 || controlUi.dangerouslyAllowHostHeaderOriginFallback === true) return listed;
  if (bind !== "lan" && bind !== "tailnet" && bind !== "custom") return [];
  const hosts = ["localhost", "127.0.0.1", ...(bind === "custom" && customBindHost ? [customBindHost] : [])];
  return [...new Set(hosts)].map((host) => `${tls.enabled === true ? "https" : "http"}://${host}:${port}`);
}

/** The rules for origins. Modes that admit clients without a secret of their own check origins behind proxies, too. */
export function originPolicy(section: GatewaySection, port: number, mode: AuthMode): OriginPolicy {
  return {
    allowedOrigins: effectiveOrigins(section, port),
    hostHeaderFallback: section.controlUi?.dangerouslyAllowHostHeaderOriginFallback ?? false,
    ambient: mode === "none" || mode === "trusted-proxy",
    ...(mode === "none" ? { ownPort: port } : {}),
  };
}

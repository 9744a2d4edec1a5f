/** Which addresses to listen on, and whether that is safe. Spec: http/auth.md §2-3. Pure except for the list of interfaces. */
import { isIPv4 } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import type { GatewaySection } from "../config/host-schema.ts";
import { compileAddresses } from "./client-address.ts";
import { isLoopback } from "./locality.ts";
import { effectiveOrigins } from "./origins.ts";
import { type AuthSettings, StartupRefusal } from "./settings.ts";
import { weakness } from "./weak-secret.ts";

type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, "address">[] | undefined>>;

const LOOPBACK: readonly string[] = ["127.0.0.1", "::1"];
const EVERYWHERE: readonly string[] = ["0.0.0.0"];
/** Addresses of overlay networks. */
const TAILNET = compileAddresses(["100.64.0.0/10"]);

/**
 * Addresses to listen on; the first must be bound, a further one that cannot be bound is skipped.
 * @param interfaces read for `auto` and `tailnet` only
 * @throws StartupRefusal the address would be unsafe with this mode, or is invalid
 */
export function resolveBind(
  section: GatewaySection,
  auth: AuthSettings,
  interfaces: () => Interfaces = networkInterfaces,
): readonly string[] {
  const addresses = chooseAddresses(section, interfaces);
  const local = addresses.every(isLoopback);
  if (!local) refuseOpenDoor(section, auth);
  if (!local) refusePanelForNobody(section);
  if (local) refuseUnreachableProxy(auth);
  return addresses;
}

/** Whether only programs on this machine reach the port. `custom` without an address, which is refused elsewhere, counts as local. */
export function isBoundLocally(section: GatewaySection, interfaces: () => Interfaces = networkInterfaces): boolean {
  if (section.bind === "custom") return isLoopback(section.customBindHost ?? "127.0.0.1");
  return chooseAddresses(section, interfaces).every(isLoopback);
}

/** Choice: `auto`, and `tailnet` without an overlay address, leave loopback only on a machine that has none; never because the port there is in use. */
function chooseAddresses({ bind = "loopback", customBindHost }: GatewaySection, interfaces: () => Interfaces) {
  if (bind === "loopback") return LOOPBACK;
  if (bind === "lan") return EVERYWHERE;
  if (bind === "custom") return [customAddress(customBindHost)];
  const addresses = Object.values(interfaces()).flatMap((list = []) => list.map(({ address }) => address));
  const tailnet =
    bind === "tailnet" ? addresses.find((address) => isIPv4(address) && TAILNET.contains(address)) : undefined;
  if (tailnet !== undefined) return [tailnet];
  return addresses.some((address) => isIPv4(address) && isLoopback(address)) ? LOOPBACK : EVERYWHERE;
}

function customAddress(host: string | undefined): string {
  if (host !== undefined && isIPv4(host)) return host;
  const what = host === undefined ? "is not set" : `is "${host}"`;
  throw new StartupRefusal(
    `gateway.bind is "custom" and gateway.customBindHost ${what}; set it to an IPv4 address of this machine`,
  );
}

/** Off loopback the gateway needs a secret that cannot be guessed, or a proxy that authenticates users. */
function refuseOpenDoor({ bind = "loopback" }: GatewaySection, auth: AuthSettings): void {
  const { mode } = auth;
  if (mode === "none") {
    throw new StartupRefusal(
      `gateway.bind is "${bind}" and gateway.auth.mode is "none", so anyone could use this gateway; set gateway.auth.mode to "token"`,
    );
  }
  if (!(mode === "trusted-proxy" ? auth.trustedProxy : auth[mode]?.trim())) {
    throw new StartupRefusal(
      `gateway.bind is "${bind}" and gateway.auth.mode is "${mode}" without a ${mode}; set gateway.auth.${mode}, or gateway.bind to "loopback"`,
    );
  }
  const weak = weakness(auth);
  if (weak === undefined) return;
  throw new StartupRefusal(
    `gateway.bind is "${bind}" and ${weak}; set gateway.auth.${mode} to the output of \`openssl rand -hex 24\`, or gateway.bind to "loopback"`,
  );
}

/** Choice: only for a panel that is enabled explicitly; `lan`, `tailnet` and `custom` always have origins here. */
function refusePanelForNobody(section: GatewaySection): void {
  const { enabled, dangerouslyAllowHostHeaderOriginFallback } = section.controlUi ?? {};
  if (enabled !== true || dangerouslyAllowHostHeaderOriginFallback === true) return;
  if (effectiveOrigins(section, 0).length > 0) return;
  throw new StartupRefusal(
    "gateway.controlUi is enabled off loopback, but no page may use it; list the panel's addresses in gateway.controlUi.allowedOrigins",
  );
}

function refuseUnreachableProxy({ mode, trustedProxy }: AuthSettings): void {
  if (mode !== "trusted-proxy") return;
  const { contains } = compileAddresses(trustedProxy?.trustedProxies ?? []);
  if (contains("127.0.0.1") || contains("::1")) return;
  throw new StartupRefusal(
    'gateway.auth.mode is trusted-proxy, but this gateway listens on loopback, where no trusted proxy can reach it; add "127.0.0.1" to gateway.trustedProxies, or set gateway.bind to the network of the proxy',
  );
}

/** Addresses of the control panel for people, and the obstacles between their browser and it. Pure. */
import { commandText } from "@svc/sdk/cli";
import { gatewayAddress, isLoopbackHost } from "@svc/sdk/client";
import { panelBasePath, type PanelPlace } from "@svc/sdk/gateway";

/** Where the panel is served; the base path has the form of `panelBasePath`. */
export type Place = Pick<PanelPlace, "isServed" | "basePath">;

/** Of a gateway that does not show its configuration. */
export const UNKNOWN_PLACE: Place = { isServed: true, basePath: "" };

/** Reads `gateway.controlUi` of a configuration. */
export function placeIn(config: unknown): Place {
  const { gateway } = Object(config) as { readonly gateway?: unknown };
  const { controlUi } = Object(gateway) as { readonly controlUi?: unknown };
  const { enabled, basePath } = Object(controlUi) as { readonly enabled?: unknown; readonly basePath?: unknown };
  return { isServed: enabled !== false, basePath: typeof basePath === "string" ? panelBasePath({ basePath }) : "" };
}

/** The page of a gateway. @param url of the gateway, `ws:`, `wss:`, `http:` or `https:`; its path is that of the WebSocket and not used */
export function pageOf(url: string, basePath: string): string {
  const { protocol, host } = gatewayAddress(url) ?? new URL(url);
  return new URL(`${protocol === "wss:" ? "https" : "http"}://${host}${basePath}/`).href;
}

/** The link that signs a browser in. A fragment never leaves the browser, so no server or proxy can log it. */
export function linkTo(page: string, token: string): string {
  return `${page}#invite=${encodeURIComponent(token)}`;
}

/**
 * The command for the computer of a person who reached this machine over SSH, where the address of the page means another machine.
 * @returns `undefined`: none is needed
 */
export function tunnelTo(page: string, { SSH_CONNECTION, USER, LOGNAME }: NodeJS.ProcessEnv): string | undefined {
  const { hostname, port, protocol } = new URL(page);
  const [, , server, sshPort] = SSH_CONNECTION?.trim().split(/\s+/) ?? [];
  if (!isLoopbackHost(hostname) || server === undefined) return undefined;
  const at = port || (protocol === "https:" ? "443" : "80");
  const user = USER ?? LOGNAME;
  const forward = ["ssh", "-N", "-L", `${at}:${hostname}:${at}`];
  return commandText([
    ...forward,
    ...(sshPort === undefined || sshPort === "22" ? [] : ["-p", sshPort]),
    user ? `${user}@${server}` : server,
  ]);
}

/** What to do if browsers do not let the page keep a device key: it needs a secure context. */
export function wayAround(page: string): string[] {
  const { hostname, protocol } = new URL(page);
  if (protocol === "https:" || isLoopbackHost(hostname) || hostname.endsWith(".localhost")) return [];
  return [
    "Browsers let no page prove a device over plain HTTP from another machine. Use one of these ways:",
    "  HTTPS by the gateway: on its machine, svc config set gateway.tls.enabled true",
    "  HTTPS by a proxy in front of the gateway: then svc dashboard --url wss://<address of the proxy>",
    "  a tunnel: ssh -N -L <port>:127.0.0.1:<port> <the gateway's machine>, then svc dashboard there",
    'See plugins/devices/README.md, "Links that sign a browser in".',
  ];
}

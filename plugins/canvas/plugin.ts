/** Canvas: serves the pages that nodes display, and lets agents display them. */
import { definePlugin, invalidRequest, live } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { nodeCanvas, Nodes } from "@svc/sdk/nodes";
import { Tool } from "@svc/sdk/tools";
import { Capabilities } from "./capabilities.ts";
import { CanvasConfig } from "./config.ts";
import { rootOf, seedRoot } from "./files.ts";
import { LiveReload } from "./live-reload.ts";
import { PREFIX, scopedPath } from "./place.ts";
import { requireOn, serve } from "./serve.ts";
import { canvasTool } from "./tool.ts";

/** Choice: milliseconds for which an address that an agent sends to a node must still be valid. */
const ENOUGH_MS = 60_000;

export default definePlugin({
  id: "canvas",
  api: "^1.0.0",
  section: "canvasHost",
  config: CanvasConfig,
  requires: { host: GatewayInfo, nodes: live(Nodes) },

  setup(gateway) {
    const { clock, log, services, hooks, signal } = gateway;
    const { host } = services;
    let { config } = gateway;
    gateway.configChanged((next) => void (config = next));

    const capabilities = new Capabilities(clock);
    const root = () => rootOf(config.root, host.stateDir);
    const reload = new LiveReload({ root, clock, log });
    const off = () => {
      if (!config.enabled) return "canvasHost.enabled is false";
      return process.env["SVC_SKIP_CANVAS_HOST"]?.trim() ? "SVC_SKIP_CANVAS_HOST is set" : undefined;
    };
    gateway.route({
      method: "GET",
      path: `${PREFIX}/*rest`,
      auth: "optional",
      scope: "operator.read",
      refusesUpgrade: true,
      summary: `pages that nodes display; a GET of ${PREFIX}/ws streams changes as server-sent events`,
      handler: (request) =>
        serve(request, {
          capabilities,
          reload,
          off,
          async root() {
            if (config.root === undefined) await seedRoot(root());
            return root();
          },
          hasLiveReload: () => config.liveReload,
          aliases: () => host.aliases,
          stopped: signal,
        }),
    });

    /** Address of the pages for a client that reached the gateway under `address`. */
    const urlFor = (address: string | undefined, path: string) => (address ?? httpOf(host.url ?? "")) + path;
    hooks.helloFields.tap((hello) => {
      if (off() !== undefined) return undefined;
      const { id, principal, address } = hello.connection;
      const path = principal?.role === "node" ? scopedPath(capabilities.issue(id).token) : "";
      return { ...hello, fields: { ...hello.fields, canvasHostUrl: urlFor(address, path) } };
    });
    hooks.connectionClosed.tap(({ id }) => capabilities.withdraw(id), { onlyAwake: true });
    gateway.serve(nodeCanvas, {
      refresh({ connection }) {
        requireOn(off());
        if (!connection) return invalidRequest("only a connected node can call this method");
        const { token, expiresAt } = capabilities.issue(connection.id);
        return {
          canvasCapability: token,
          canvasCapabilityExpiresAtMs: expiresAt,
          canvasHostUrl: urlFor(connection.address, scopedPath(token)),
        };
      },
    });

    gateway.extend(
      Tool,
      "canvas",
      canvasTool({
        nodes: services.nodes,
        pageUrl(nodeId, page) {
          requireOn(off());
          const connection = host.connections().findLast(({ device, principal }) => {
            return device === nodeId && principal?.role === "node";
          });
          if (!connection) return undefined;
          const { token } = capabilities.of(connection.id, ENOUGH_MS) ?? capabilities.issue(connection.id);
          return urlFor(
            connection.address,
            scopedPath(token, `${PREFIX}/canvas${page.split("/").map(encodeURIComponent).join("/")}`),
          );
        },
      }),
    );
    gateway.onStop(() => reload.stop());
  },
});

/** `ws://127.0.0.1:18789` as an address of pages. */
function httpOf(url: string): string {
  return url.replace(/^ws/, "http").replace(/\/$/, "");
}

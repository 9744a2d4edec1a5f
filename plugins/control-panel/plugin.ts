/** Control panel: serves the page with which people use the gateway in a browser, and what other plugins add to it. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { definePlugin } from "@svc/sdk";
import { panel, PanelCard, PanelPage } from "@svc/sdk/panel";
import { UiConfig } from "./config.ts";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "application/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
  ".png": "image/png",
};

export default definePlugin({
  id: "control-panel",
  api: "^1.0.0",
  section: "ui",
  config: UiConfig,

  setup(gateway) {
    gateway.own(PanelPage);
    gateway.own(PanelCard);
    gateway.route({
      method: "GET",
      path: "/*path",
      auth: "plugin",
      isFallback: true,
      summary: "the control panel",
      async handler({ path }) {
        const root = join(
          dirname(createRequire(import.meta.url).resolve("@svc/plugin-control-panel/package.json")),
          "dist/ui",
        );
        const name = extname(path) === "" ? "index.html" : path.slice(1);
        const body = (await readFile(join(root, name))) as Uint8Array;
        const page = name === "index.html" ? body.toString().replaceAll('"./', '"/') : body;
        return {
          headers: {
            "Content-Type": TYPES[extname(name)] ?? "application/octet-stream",
            "Cache-Control": "no-cache",
            "Content-Security-Policy":
              "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; font-src 'self'; connect-src 'self' ws: wss:",
          },
          body: page,
        };
      },
    });
    gateway.serve(panel, { pages: () => ({ pages: [] }), cards: () => ({ cards: [] }) });
  },
});

/** Control panel: serves the page with which people use the gateway in a browser, and what other plugins add to it. */
import { definePlugin, notFound } from "@svc/sdk";
import { panel, PanelCard, PanelPage } from "@svc/sdk/panel";
import { UiConfig } from "./config.ts";

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
      handler: () => notFound("nothing is served here"),
    });
    gateway.serve(panel, { pages: () => ({ pages: [] }), cards: () => ({ cards: [] }) });
  },
});

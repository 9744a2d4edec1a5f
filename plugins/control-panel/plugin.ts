/** Control panel: serves the page with which people use the gateway in a browser, and what other plugins add to it. */
import { definePlugin, live } from "@svc/sdk";
import { AgentIdentities } from "@svc/sdk/agents";
import { GatewayInfo } from "@svc/sdk/gateway";
import { panel, PanelCard, PanelPage } from "@svc/sdk/panel";
import { PluginControl } from "@svc/sdk/plugins";
import { Additions } from "./additions.ts";
import { UiConfig } from "./config.ts";
import { createServe } from "./serve.ts";

export default definePlugin({
  id: "control-panel",
  api: "^1.0.0",
  section: "ui",
  config: UiConfig,
  requires: { host: GatewayInfo, control: PluginControl, agents: live(AgentIdentities) },

  setup(gateway) {
    const { clock, log, services, signal: stopped } = gateway;
    let { config } = gateway;
    gateway.configChanged((next) => void (config = next));

    const place = () => services.host.panel;
    const [pages, cards] = [gateway.own(PanelPage), gateway.own(PanelCard)];
    const inspect = (id: string) => services.control.inspect(id);
    const additions = new Additions({ pages, cards, control: { inspect }, place, clock, log, stopped });
    gateway.serve(panel, {
      pages: () => ({ pages: additions.listPages() }),
      cards: async () => ({ cards: await additions.listCards() }),
    });
    gateway.route({
      method: "GET",
      path: "/*path",
      auth: "plugin",
      isFallback: true,
      summary: "the control panel",
      handler: createServe({
        place,
        aliases: () => services.host.aliases,
        stateDir: () => services.host.stateDir,
        ui: () => config,
        agents: services.agents,
        pages: additions,
      }),
    });
  },
});

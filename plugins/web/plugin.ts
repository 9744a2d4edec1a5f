/** Web: agents read pages with `web_fetch` and search with `web_search`. */
import { definePlugin, live } from "@svc/sdk";
import { revealSetting, Secrets } from "@svc/sdk/secrets";
import { Tool } from "@svc/sdk/tools";
import { OutboundFetch, WebSearchProvider } from "@svc/sdk/web";
import { createBrave } from "./brave.ts";
import { WebConfig } from "./config.ts";
import { createExtraction } from "./extraction.ts";
import { createFetchTool } from "./fetch-tool.ts";
import { createSearchTool } from "./search-tool.ts";
import { createSearxng } from "./searxng.ts";

export default definePlugin({
  id: "web",
  api: "^1.0.0",
  section: "tools.web",
  config: WebConfig,
  requires: { outbound: OutboundFetch, secrets: live(Secrets) },

  setup(gateway) {
    const { clock, services } = gateway;
    const { search, fetch } = gateway.config;
    const providers = gateway.own(WebSearchProvider);
    const brave = createBrave({
      hasKey: search.apiKey !== undefined,
      key: () => revealSetting(search.apiKey ?? "", services.secrets.get(), "tools.web.search.apiKey"),
    });
    gateway.extend(WebSearchProvider, "brave", brave);
    gateway.extend(WebSearchProvider, "searxng", createSearxng({ baseUrl: search.searxng.baseUrl }));

    if (search.enabled) gateway.extend(Tool, "web_search", createSearchTool({ settings: search, providers, clock }));
    if (fetch.enabled) {
      const parts = { settings: fetch, outbound: () => services.outbound, extract: createExtraction({ clock }), clock };
      gateway.extend(Tool, "web_fetch", createFetchTool(parts));
    }
  },
});

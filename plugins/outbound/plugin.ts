/** Outbound: fetches URLs from external content, from public addresses only. */
import { definePlugin, lazy } from "@svc/sdk";
import { OutboundFetch } from "@svc/sdk/web";

export default definePlugin({
  id: "outbound",
  api: "^1.0.0",
  provides: [OutboundFetch],

  setup(gateway) {
    const { clock, signal } = gateway;
    const loaded = lazy(async () => (await import("./fetch.ts")).createOutboundFetch({ clock, signal }));
    gateway.provide(OutboundFetch, {
      fetch: async (request) => (await loaded()).fetch(request),
    });
  },
});

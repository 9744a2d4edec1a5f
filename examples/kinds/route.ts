import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "uptime",
  api: "^1.0.0",
  setup(gateway) {
    const since = gateway.clock.elapsed();
    gateway.route({
      method: "GET",
      path: "/plugins/uptime/seconds",
      auth: "gateway", // "plugin": the handler checks the request itself
      scope: "operator.read",
      summary: "Seconds since the plugin was set up",
      handler: () => ({ body: { seconds: Math.floor((gateway.clock.elapsed() - since) / 1_000) } }),
    });
  },
});

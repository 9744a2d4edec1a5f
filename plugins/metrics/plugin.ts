/** Metrics of the gateway and its plugins, for Prometheus. */
import { definePlugin, live } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { PluginControl } from "@svc/sdk/plugins";
import { Ownership } from "@svc/sdk/storage";
import { CONTENT_TYPE, expose } from "./exposition.ts";
import { gatewaySeries } from "./gateway-series.ts";
import { createLoopDelayMonitor } from "./loop-delay.ts";
import { pluginSeries } from "./plugin-series.ts";

export default definePlugin({
  id: "metrics",
  api: "^1.0.0",
  requires: { control: PluginControl, info: GatewayInfo, ownership: live(Ownership) },

  setup(gateway) {
    const { clock, services } = gateway;
    const { control, info } = services;
    const delay = createLoopDelayMonitor();

    gateway.route({
      method: "GET",
      path: "/metrics",
      auth: "gateway",
      scope: "operator.read",
      summary: "Metrics of the gateway and its plugins, in the text format of Prometheus",
      handler() {
        const facts = {
          version: info.version,
          nodeVersion: process.version,
          startedAt: info.startedAt,
          now: clock.now(),
          roles: info.connections().flatMap(({ principal }) => principal?.role ?? []),
          delay: delay.look(),
          memory: process.memoryUsage(),
          cpu: process.cpuUsage(),
          processStartedAt: performance.timeOrigin,
          ownership: services.ownership.get(),
        };
        const body = expose([...gatewaySeries(facts), ...pluginSeries(control.measures())]);
        return { headers: { "Content-Type": CONTENT_TYPE, "Cache-Control": "no-store" }, body };
      },
    });
    gateway.onStop(delay.stop);
  },
});

/** Plugins: what runs in this gateway, and reloading it. */
import { definePlugin, plugins } from "@svc/sdk";
import { PluginControl, type PluginReport, type ReloadReport } from "@svc/sdk/services";

export default definePlugin({
  id: "plugins",
  api: "^1.0.0",
  requires: { control: PluginControl },

  setup(gateway) {
    const { control } = gateway.services;
    gateway.serve(plugins, {
      list: () => ({ plugins: control.reports().map(rowOf) }),
      reload: async ({ params }) => outcomeOf(await control.reload(params.id)),
      align: async () => ({ changed: (await control.align()).map(outcomeOf) }),
    });
  },
});

/** The report as the wire has it. */
function rowOf({ inert, deprecated, ...facts }: PluginReport) {
  return { ...facts, inert: [...inert], ...(deprecated ? { deprecated: [...deprecated] } : {}) };
}

function outcomeOf(report: ReloadReport) {
  return { ...report, restarted: [...report.restarted] };
}

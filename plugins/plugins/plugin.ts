/** Plugins: what runs in this gateway, and reloading it. */
import { definePlugin, plugins } from "@svc/sdk";
import { PluginControl, type ReloadReport } from "@svc/sdk/services";

export default definePlugin({
  id: "plugins",
  api: "^1.0.0",
  requires: { control: PluginControl },

  setup(gateway) {
    const { control } = gateway.services;
    gateway.serve(plugins, {
      list: () => ({ plugins: control.reports().map((report) => ({ ...report, inert: [...report.inert] })) }),
      reload: async ({ params }) => toRow(await control.reload(params.id)),
      align: async () => ({ changed: (await control.align()).map(toRow) }),
    });
  },
});

function toRow(report: ReloadReport) {
  return { ...report, restarted: [...report.restarted] };
}

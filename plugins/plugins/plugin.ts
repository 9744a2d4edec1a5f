/** Plugins: what runs in this gateway and what it costs, and reloading it. */
import { definePlugin, plugins, type ResultOf } from "@svc/sdk";
import { PluginControl } from "@svc/sdk/services";

export default definePlugin({
  id: "plugins",
  api: "^1.0.0",
  requires: { control: PluginControl },

  setup(gateway) {
    const { control } = gateway.services;
    gateway.serve(plugins, {
      list: () => ({ plugins: control.reports().map((report) => ({ ...report, inert: [...report.inert] })) }),
      inspect: ({ params }) => control.inspect(params.id) as ResultOf<typeof plugins.inspect>, // the wire's types are not readonly
      async reload({ params }) {
        const report = await control.reload(params.id);
        return { ...report, restarted: [...report.restarted] };
      },
    });
  },
});

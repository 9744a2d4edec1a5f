/** Plugins: what runs in this gateway, installing, switching and reloading it. */
import { definePlugin, plugins } from "@svc/sdk";
import { ConfigStore, PluginControl, PluginInstaller, type ReloadReport } from "@svc/sdk/services";
import { switchPlugin } from "./switch.ts";

export default definePlugin({
  id: "plugins",
  api: "^1.0.0",
  requires: { control: PluginControl, installer: PluginInstaller, config: ConfigStore },

  setup(gateway) {
    const { control, installer, config } = gateway.services;
    gateway.serve(plugins, {
      list: () => ({ plugins: control.reports().map((report) => ({ ...report, inert: [...report.inert] })) }),
      reload: async ({ params }) => toRow(await control.reload(params.id)),
      align: async () => ({ changed: (await control.align()).map(toRow) }),
      install: ({ params, principal }) => installer.install(params.spec, author(principal, params.agree)),
      update: ({ params, principal }) => installer.update(params.id, author(principal, params.agree)),
      async remove({ params: { id, purge = false }, principal }) {
        const { version, kept } = await installer.remove(id, author(principal), { purge });
        return { id, version, kept: { ...kept, keys: [...kept.keys] } };
      },
      enable: ({ params, principal }) => switchPlugin(params.id, true, principal.id, { control, config }),
      disable: ({ params, principal }) => switchPlugin(params.id, false, principal.id, { control, config }),
      doctor: async () => ({ findings: [...(await installer.doctor())] }),
    });
  },
});

function toRow(report: ReloadReport) {
  return { ...report, restarted: [...report.restarted] };
}

function author({ id }: { readonly id: string }, agree?: string) {
  return { actor: id, ...(agree === undefined ? {} : { agree }) };
}

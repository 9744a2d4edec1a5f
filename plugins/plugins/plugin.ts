/** Plugins: what runs in this gateway and what it costs, installing, switching and reloading it. */
import { definePlugin } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { PluginControl, PluginInstaller, plugins } from "@svc/sdk/plugins";
import { switchPlugin } from "./switch.ts";

export default definePlugin({
  id: "plugins",
  api: "^1.0.0",
  requires: { control: PluginControl, installer: PluginInstaller, config: ConfigStore },

  setup(gateway) {
    const { control, installer, config } = gateway.services;
    gateway.serve(plugins, {
      list: () => ({ plugins: control.reports() }),
      inspect: ({ params }) => control.inspect(params.id),
      reload: ({ params }) => control.reload(params.id),
      align: async () => ({ changed: await control.align() }),
      install: ({ params, principal }) => installer.install(params.spec, author(principal, params.agree)),
      update: ({ params, principal }) => installer.update(params.id, author(principal, params.agree)),
      remove: ({ params: { id, purge = false }, principal }) => installer.remove(id, author(principal), { purge }),
      enable: ({ params, principal }) => switchPlugin(params.id, true, principal.id, { control, config }),
      disable: ({ params, principal }) => switchPlugin(params.id, false, principal.id, { control, config }),
      doctor: async () => ({ findings: await installer.doctor() }),
    });
  },
});

function author({ id }: { readonly id: string }, agree?: string) {
  return { actor: id, ...(agree === undefined ? {} : { agree }) };
}

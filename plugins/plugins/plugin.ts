/** Plugins: lists the plugins of this gateway and their resource usage; installs, switches and reloads them. */
import { definePlugin, lazy } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { GatewayInfo } from "@svc/sdk/gateway";
import { PluginControl, PluginInstaller, plugins, PluginStats } from "@svc/sdk/plugins";
import { Retention } from "@svc/sdk/storage";
import type { InstallServices } from "./install/service.ts";
import { switchPlugin } from "./switch.ts";

export default definePlugin({
  id: "plugins",
  api: "^1.0.0",
  requires: { control: PluginControl, config: ConfigStore, info: GatewayInfo },
  provides: [PluginInstaller],

  setup(gateway) {
    const { control, config } = gateway.services;
    const installer = lazyInstaller(gateway.services);
    gateway.provide(PluginInstaller, installer);
    gateway.extend(Retention, "plugins-audit", {
      files: ["logs/plugins-audit.jsonl*"],
      holds: "which plugins were installed, updated and removed, and by whom",
      rule: "newest 4 files of 1 MiB",
    });
    gateway.extend(Retention, "installed-plugins", {
      files: ["extensions"],
      holds: "installed plugins",
      rule: "until removed; newest 2 generations",
    });
    gateway.extend(Retention, "fetched-plugins", {
      files: ["cache/install"],
      holds: "package fetched by an install that is not confirmed yet",
      rule: "one package, until the next install or update",
    });
    gateway.serve(plugins, {
      list: ({ params: { includeStats = false } }) => ({
        plugins: control.reports(),
        ...(includeStats && { stats: statsById(control) }),
      }),
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

/** The fields of `PluginStats`; measures have more, for monitoring systems. */
function statsById(control: PluginControl): Readonly<Record<string, PluginStats>> {
  const fields = Object.keys(PluginStats.properties) as (keyof PluginStats)[];
  return Object.fromEntries(
    control
      .measures()
      .map((all) => [all.id, Object.fromEntries(fields.map((field) => [field, all[field]])) as unknown as PluginStats]),
  );
}

/** The installer is imported on first use, not at startup. */
function lazyInstaller(services: InstallServices): PluginInstaller {
  const opened = lazy(async () => (await import("./install/service.ts")).createInstallService(services));
  return {
    install: async (spec, by) => (await opened()).install(spec, by),
    update: async (id, by) => (await opened()).update(id, by),
    remove: async (id, by, options) => (await opened()).remove(id, by, options),
    doctor: async () => (await opened()).doctor(),
  };
}

function author({ id }: { readonly id: string }, agree?: string) {
  return { actor: id, ...(agree === undefined ? {} : { agree }) };
}

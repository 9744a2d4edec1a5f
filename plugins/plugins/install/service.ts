/** The service `PluginInstaller` of a running gateway. Imported on first use. */
import { refusal, unavailable } from "@svc/sdk/errors";
import type { ConfigStore } from "@svc/sdk/config";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { InstallAuthor, PluginControl, PluginInstaller } from "@svc/sdk/plugins";
import { resolvePaths } from "@svc/host/state";
import { findings } from "./doctor.ts";
import { InstallFailure } from "./failure.ts";
import { type Agreeing, createInstaller, type Installer } from "./installer.ts";
import { removeInstalled } from "./removal.ts";
import { installationOf } from "./summary.ts";

/** Gateway services used by the installer. */
export interface InstallServices {
  readonly control: Pick<PluginControl, "align" | "reports" | "planned">;
  readonly config: Pick<ConfigStore, "edit" | "snapshot">;
  readonly info: Pick<GatewayInfo, "stateDir">;
}

export function createInstallService({ control, config, info: { stateDir } }: InstallServices): PluginInstaller {
  const installer = (actor: string): Installer =>
    createInstaller({
      stateDir,
      home: resolvePaths().home,
      env: process.env,
      actor,
      holderOf: (id) => control.planned().holderOf(id),
      gateway: {
        stateOf: (id) => Promise.resolve(control.reports().find((report) => report.id === id)?.state),
        align: () => control.align(),
      },
    });

  const agreeing = ({ agree: word }: InstallAuthor): Agreeing => ({ agree: ({ agree }) => agree === word, word });

  return {
    install: (spec, author) =>
      refusing(async () => installationOf(await installer(author.actor).install(spec, agreeing(author)))),

    update: (id, author) =>
      refusing(async () => installationOf(await installer(author.actor).update(id, agreeing(author)))),

    remove: (id, { actor }, { purge = false } = {}) =>
      refusing(async () => {
        const { parsed } = await config.snapshot();
        return removeInstalled(id, purge, {
          installer: installer(actor),
          stateDir,
          parsed,
          planned: control.planned(),
          edit: (decide) => config.edit({ actor, action: "plugins.remove" }, decide),
        });
      }),

    doctor: () =>
      findings({ stateDir, planned: control.planned(), ids: new Set(control.reports().map(({ id }) => id)) }),
  };
}

/** Converts the failure of an install to a refusal for clients. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InstallFailure)) throw error;
    const { message, step, details } = error;
    if (step === "lock") unavailable(message, { retryAfterMs: 5_000, cause: error });
    if (details.code === "NOT_INSTALLED") throw refusal("NOT_INSTALLED", message);
    throw refusal("INSTALL_FAILED", message, error.shown(), { cause: error });
  }
}

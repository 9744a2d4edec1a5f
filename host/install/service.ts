/** Installing as the running gateway offers it to plugins, and by them to panels. Loaded with the first use. */
import { refusal, unavailable } from "@svc/sdk/errors";
import type { ConfigStore } from "@svc/sdk/config";
import type { InstallAuthor, PluginControl, PluginFinding, PluginInstaller } from "@svc/sdk/plugins";
import type { Environment, Paths } from "../config/paths.ts";
import type { PluginPlan } from "../kernel/kernel.ts";
import type { PluginFinder } from "../kernel/load.ts";
import { findings } from "./doctor.ts";
import { InstallFailure } from "./failure.ts";
import { holderOf } from "./holder.ts";
import { createInstaller, type Installer } from "./installer.ts";
import type { SectionOwnership } from "./leavings.ts";
import { removeInstalled } from "./removal.ts";
import { installationOf } from "./summary.ts";

export interface ServiceOptions {
  readonly paths: Paths;
  readonly env: Environment;
  readonly finder: PluginFinder;
  plan(): PluginPlan;
  sections(): readonly SectionOwnership[];
  /** Ids below `plugins.entries`. */
  configured(): readonly string[];
  readonly control: Pick<PluginControl, "align" | "reports">;
  readonly config: Pick<ConfigStore, "edit" | "snapshot">;
}

export function createInstallService(options: ServiceOptions): PluginInstaller {
  const { paths, env, finder, plan, control } = options;
  const { stateDir, home } = paths;

  const held = (id: string) => holderOf(id, plan(), finder);

  const installer = (actor: string): Installer =>
    createInstaller({
      stateDir,
      home,
      env,
      actor,
      holderOf: held,
      gateway: {
        stateOf: (id) => Promise.resolve(control.reports().find((report) => report.id === id)?.state),
        align: () => control.align(),
      },
    });

  const agreeing = ({ agree }: InstallAuthor) => ({ agree: (request: { agree: string }) => request.agree === agree });

  return {
    install: (spec, author) =>
      refusing(async () => installationOf(await installer(author.actor).install(spec, agreeing(author)))),

    update: (id, author) =>
      refusing(async () => installationOf(await installer(author.actor).update(id, agreeing(author)))),

    remove: (id, { actor }, { purge = false } = {}) =>
      refusing(async () => {
        const { parsed } = await options.config.snapshot();
        return removeInstalled(id, purge, {
          installer: installer(actor),
          stateDir,
          parsed,
          owners: options.sections(),
          holderOf: held,
          edit: (decide) => options.config.edit({ actor, action: "plugins.remove" }, decide),
        });
      }),

    doctor: (): Promise<readonly PluginFinding[]> =>
      findings({
        stateDir,
        plan: plan(),
        ids: new Set(control.reports().map(({ id }) => id)),
        configured: options.configured(),
      }),
  };
}

/** Tells failures of an install as what clients get to see. */
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

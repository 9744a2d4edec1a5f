/** Installing as the running gateway offers it to plugins, and by them to panels. Loaded with the first use. */
import { GatewayError, notFound, unavailable } from "@svc/sdk";
import type {
  ConfigStore,
  InstallAuthor,
  PluginControl,
  PluginFinding,
  PluginInstaller,
  PluginRemoval,
} from "@svc/sdk/services";
import type { Environment, Paths } from "../config/paths.ts";
import { formatKeys } from "./summary.ts";
import type { PluginPlan } from "../kernel/kernel.ts";
import type { PluginFinder } from "../kernel/load.ts";
import { findings } from "./doctor.ts";
import { InstallFailure } from "./failure.ts";
import { holderOf } from "./holder.ts";
import { createInstaller, type Installer } from "./installer.ts";
import { keptDirectory, keysOf, removeKept, type SectionOwnership, withoutKeys } from "./leavings.ts";
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

  const installer = (actor: string): Installer =>
    createInstaller({
      stateDir,
      home,
      env,
      actor,
      holderOf: (id) => holderOf(id, plan(), finder),
      gateway: {
        stateOf: (id) => Promise.resolve(control.reports().find((report) => report.id === id)?.state),
        align: () => control.align(),
      },
    });

  const agreeing = ({ agree }: InstallAuthor) => ({ agree: (request: { agree: string }) => request.agree === agree });

  async function removeOrFind(id: string, author: InstallAuthor, purge: boolean): Promise<string> {
    try {
      return (await installer(author.actor).remove(id)).record.version;
    } catch (error) {
      // Removed before, and only what it left is to go now.
      const isGone = error instanceof InstallFailure && error.details["code"] === "NOT_INSTALLED";
      if (!isGone || !purge || holderOf(id, plan(), finder) !== undefined) throw error;
      if (keptDirectory(stateDir, id) === undefined && !options.configured().includes(id)) throw error;
      return "";
    }
  }

  return {
    install: (spec, author) =>
      refusing(async () => installationOf(await installer(author.actor).install(spec, agreeing(author)))),

    update: (id, author) =>
      refusing(async () => installationOf(await installer(author.actor).update(id, agreeing(author)))),

    remove: (id, author, { purge = false } = {}) =>
      refusing(async (): Promise<PluginRemoval> => {
        const owners = options.sections();
        const version = await removeOrFind(id, author, purge);
        const { parsed } = await options.config.snapshot();
        const keys = keysOf(parsed, id, owners);
        if (!purge) {
          const directory = keptDirectory(stateDir, id);
          return { id, version, kept: { ...(directory === undefined ? {} : { directory }), keys: formatKeys(keys) } };
        }
        if (keys.length > 0)
          await options.config.edit({ actor: author.actor, action: "plugins.remove" }, (now) =>
            withoutKeys(now, keysOf(now, id, owners)),
          );
        await removeKept(stateDir, id);
        return { id, version, kept: { keys: [] } };
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
    if (details["code"] === "NOT_INSTALLED") notFound(message);
    const { npm: _words, ...shown } = details; // the message has what matters of it
    throw new GatewayError("INVALID_REQUEST", message, {
      details: { code: "INSTALL_FAILED", ...shown, step },
      cause: error,
    });
  }
}

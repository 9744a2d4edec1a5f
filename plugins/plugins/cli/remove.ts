/** `svc plugins remove <id>`: changes the files of this machine, or with `--url` asks that gateway to do it. */
import { loadOwners, openStore } from "@svc/cli";
import type { CommandContext } from "@svc/sdk/cli";
import { type PluginRemoval, plugins } from "@svc/sdk/plugins";
import { removeInstalled } from "../install/removal.ts";
import { failureTold } from "./failure-told.ts";
import { installerHere } from "./install.ts";
import { atGateway } from "./live.ts";

/** Milliseconds. */
const TIMEOUT = 120_000;

/** @returns the exit code */
export async function removePlugin(id: string, context: CommandContext): Promise<number> {
  const { url, purge = false }: { readonly url?: string; readonly purge?: boolean } = context.options;
  if (url !== undefined) {
    const done = await atGateway(context, (client) =>
      client.call(plugins.remove, { id, purge }, { timeoutMs: TIMEOUT }),
    );
    tell(done, purge, context);
    return 0;
  }
  const { installer, here } = await installerHere(context);
  return failureTold(context, async () => {
    const { paths, file, planned } = here;
    const sections = (await loadOwners(file, paths)).installed;
    const done = await removeInstalled(id, purge, {
      installer,
      stateDir: paths.stateDir,
      parsed: file.parsed,
      planned: { ...planned, sections },
      edit: async (decide) => (await openStore(paths)).store.edit({ actor: "cli", action: "plugins.remove" }, decide),
    });
    tell(done, purge, context);
    return 0;
  });
}

function tell(done: PluginRemoval, purge: boolean, context: CommandContext): void {
  context.print(context.json ? done : describeRemoval(done, purge));
}

/** Pure. */
export function describeRemoval({ id, version, kept: { directory, keys } }: PluginRemoval, purge: boolean): string {
  const what = version === "" ? `Removed the leftovers of ${id}` : `Removed ${id} ${version}`;
  if (purge) return `${what}. Nothing is left.`;
  const left = [...(directory === undefined ? [] : [directory]), ...keys.map((key) => `${key} in the configuration`)];
  if (left.length === 0) return `${what}. It had no data or configuration.`;
  return [
    `${what}. Kept:`,
    ...left.map((one) => `  ${one}`),
    `To remove these, too: svc plugins remove ${id} --purge`,
  ].join("\n");
}

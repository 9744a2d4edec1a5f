/** `svc plugins remove <id>`: on this machine's files, or with `--url` by that gateway. */
import { type PluginRemoval, plugins } from "@svc/sdk/plugins";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import type { Installer } from "../../install/installer.ts";
import { removeInstalled } from "../../install/removal.ts";
import { loadOwners } from "../config/owners.ts";
import { openStore } from "../config/write.ts";
import { atGateway } from "../connect.ts";
import { EXIT, type Output } from "../output.ts";
import type { TargetFlags } from "../target.ts";
import { failureTold } from "./failure-told.ts";
import { holders } from "./holders.ts";
import { installerHere } from "./install.ts";

export interface RemoveFlags extends TargetFlags {
  readonly purge?: boolean;
}

/** Milliseconds. */
const TIMEOUT = 120_000;

/** @returns the exit code */
export async function removePlugin(id: string, flags: RemoveFlags, output: Output): Promise<number> {
  const { purge = false } = flags;
  if (flags.url !== undefined) {
    const done = await atGateway(flags, (client) => client.call(plugins.remove, { id, purge }, { timeoutMs: TIMEOUT }));
    tell(done, purge, output);
    return EXIT.ok;
  }
  const { installer } = await installerHere(output);
  return failureTold(output, async () => {
    tell(await removeHere(id, purge, installer), purge, output);
    return EXIT.ok;
  });
}

async function removeHere(id: string, purge: boolean, installer: Installer): Promise<PluginRemoval> {
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  return removeInstalled(id, purge, {
    installer,
    stateDir: paths.stateDir,
    parsed: file.parsed,
    owners: (await loadOwners(file, paths)).installed,
    holderOf: await holders(paths),
    edit: async (decide) => (await openStore(paths)).store.edit({ actor: "cli", action: "plugins.remove" }, decide),
  });
}

function tell(done: PluginRemoval, purge: boolean, output: Output): void {
  output.print(output.json ? done : describeRemoval(done, purge));
}

/** Pure. */
export function describeRemoval({ id, version, kept: { directory, keys } }: PluginRemoval, purge: boolean): string {
  const what = version === "" ? `Removed what ${id} had left` : `Removed ${id} ${version}`;
  if (purge) return `${what}. Nothing of it is left.`;
  const left = [...(directory === undefined ? [] : [directory]), ...keys.map((key) => `${key} in the configuration`)];
  if (left.length === 0) return `${what}. It kept nothing.`;
  return [
    `${what}. Kept:`,
    ...left.map((one) => `  ${one}`),
    `To remove that, too: svc plugins remove ${id} --purge`,
  ].join("\n");
}

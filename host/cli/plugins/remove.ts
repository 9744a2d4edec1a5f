/** `svc plugins remove <id>`: on this machine's files, or with `--url` by that gateway. */
import { plugins } from "@svc/sdk";
import type { PluginRemoval } from "@svc/sdk/services";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { InstallFailure } from "../../install/failure.ts";
import type { Installer } from "../../install/installer.ts";
import { keptDirectory, keysOf, removeKept, withoutKeys } from "../../install/leavings.ts";
import { formatKeys } from "../../install/summary.ts";
import { loadOwners } from "../config/owners.ts";
import { openStore } from "../config/write.ts";
import { connectTo } from "../connect.ts";
import { EXIT, type Output } from "../output.ts";
import { resolveTarget, type TargetFlags } from "../target.ts";
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
    const client = await connectTo(await resolveTarget(flags, process.env));
    try {
      tell(await client.call(plugins.remove, { id, purge }, { timeoutMs: TIMEOUT }), purge, output);
      return EXIT.ok;
    } finally {
      await client.close();
    }
  }
  const { installer } = await installerHere(output);
  return failureTold(output, async () => {
    tell(await removeHere(id, purge, installer), purge, output);
    return EXIT.ok;
  });
}

async function removeHere(id: string, purge: boolean, installer: Installer): Promise<PluginRemoval> {
  const paths = resolvePaths();
  const { stateDir, configPath } = paths;
  const file = await readConfigFile(configPath, process.env);
  const { installed: owners } = await loadOwners(file, paths); // before: afterwards nobody knows its sections
  const keys = keysOf(file.parsed, id, owners);
  const hasLeft = keptDirectory(stateDir, id) !== undefined || keys.length > 0;
  const version = await installer.remove(id).then(
    ({ record }) => record.version,
    async (error: unknown) => {
      // Removed before, and only what it left is to go now.
      const isGone = error instanceof InstallFailure && error.details["code"] === "NOT_INSTALLED";
      if (!isGone || !purge || !hasLeft || (await holders(paths))(id) !== undefined) throw error;
      return "";
    },
  );
  const directory = keptDirectory(stateDir, id);
  if (!purge)
    return { id, version, kept: { ...(directory === undefined ? {} : { directory }), keys: formatKeys(keys) } };
  if (keys.length > 0) {
    const { store } = await openStore(paths);
    await store.edit({ actor: "cli", action: "plugins.remove" }, (parsed) =>
      withoutKeys(parsed, keysOf(parsed, id, owners)),
    );
  }
  await removeKept(stateDir, id);
  return { id, version, kept: { keys: [] } };
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

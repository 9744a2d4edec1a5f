/** `svc plugins doctor`: what is wrong with the installed plugins, and what to do. With `--fix` it removes leftovers. */
import { visible } from "@svc/sdk/cli";
import { type PluginFinding, plugins } from "@svc/sdk/plugins";
import { readConfigFile } from "../../config/file.ts";
import { type Paths, resolvePaths } from "../../config/paths.ts";
import { sectionOf } from "../../config/sections.ts";
import { findings } from "../../install/doctor.ts";
import { realEffects } from "../../install/effects.ts";
import { leftovers, removeLeftovers } from "../../install/generations.ts";
import { withInstallLock } from "../../install/lock.ts";
import { extensionsOf, readRecord } from "../../install/record.ts";
import { createPluginFinder } from "../../kernel/load.ts";
import { valueAt } from "../config/path.ts";
import { atGateway } from "../connect.ts";
import { EXIT, type Output, WrongUsage } from "../output.ts";
import { plannedPlugins } from "../planned-plugins.ts";
import type { TargetFlags } from "../target.ts";
import { failureTold } from "./failure-told.ts";
import { idsOf } from "./ids.ts";

export interface DoctorFlags extends TargetFlags {
  readonly fix?: boolean;
}

/** @returns 1 when something is broken, 0 when all is well or only worth knowing */
export async function examinePlugins(flags: DoctorFlags, output: Output): Promise<number> {
  if (flags.url !== undefined) {
    if (flags.fix) throw new WrongUsage("--fix works on the files of this machine, and --url names another gateway");
    const { findings: found } = await atGateway(flags, (client) => client.call(plugins.doctor, {}));
    return tell(found, [], output);
  }
  const paths = resolvePaths();
  return failureTold(output, async () => {
    const removed = flags.fix ? await removeOwnLeftovers(paths) : [];
    return tell(await findingsHere(paths), removed, output);
  });
}

async function findingsHere(paths: Paths): Promise<readonly PluginFinding[]> {
  const file = await readConfigFile(paths.configPath, process.env);
  const plan = plannedPlugins(file, paths);
  const finder = createPluginFinder(paths);
  const ids = await idsOf([...plan.sources, ...finder.bundle()]);
  const entries = valueAt(sectionOf(file.resolved, "plugins"), ["entries"]);
  const configured = typeof entries === "object" && entries !== null ? Object.keys(entries) : [];
  return findings({ stateDir: paths.stateDir, plan, ids, configured });
}

/** @returns what it removed */
async function removeOwnLeftovers({ stateDir }: Paths): Promise<readonly string[]> {
  const extensions = extensionsOf(stateDir);
  const before = readRecord(extensions);
  if ("problem" in before || leftovers(extensions, before).length === 0) return [];
  return withInstallLock(extensions, async () => {
    const installed = readRecord(extensions);
    if ("problem" in installed) return [];
    const left = leftovers(extensions, installed);
    await removeLeftovers(extensions, installed, realEffects.files);
    return left;
  });
}

function tell(found: readonly PluginFinding[], removed: readonly string[], output: Output): number {
  const isBroken = found.some(({ severity }) => severity === "error");
  if (output.json) output.print({ ok: !isBroken, findings: found, removed });
  else output.print(describeFindings(found, removed));
  return isBroken ? EXIT.refused : EXIT.ok;
}

/** Pure. */
function describeFindings(found: readonly PluginFinding[], removed: readonly string[]): string {
  const gone = removed.map((path) => `removed  ${path}`);
  const lines = found.flatMap(({ severity, about, message, next }) => [
    `${severity.padEnd(8)} ${visible(about)}: ${message.split("\n").map(visible).join("\n         ")}`,
    `         Next: ${visible(next)}`,
  ]);
  return [...gone, ...(lines.length > 0 ? lines : ["Nothing is wrong with the installed plugins."])].join("\n");
}

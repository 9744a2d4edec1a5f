/** `svc plugins doctor`: problems of the installed plugins and how to fix them. With `--fix` it removes leftovers. */
import { type CommandContext, visible } from "@svc/sdk/cli";
import { type PluginFinding, plugins } from "@svc/sdk/plugins";
import { pluginsHere, WrongUsage } from "@svc/cli";
import { extensionsOf, readRecord } from "@svc/host/local";
import { findings } from "../install/doctor.ts";
import { realEffects } from "../install/effects.ts";
import { leftovers, removeLeftovers } from "../install/generations.ts";
import { withInstallLock } from "../install/lock.ts";
import { failureTold } from "./failure-told.ts";
import { idsOf } from "./ids.ts";
import { atGateway } from "./live.ts";

/** @returns 1 if there is an error, 0 if there are none or only warnings */
export async function checkInstallation(context: CommandContext): Promise<number> {
  const { stateDir, options } = context;
  if (options["url"] !== undefined) {
    if (options["fix"])
      throw new WrongUsage("--fix works on the files of this machine, and --url names another gateway");
    const { findings: found } = await atGateway(context, (client) => client.call(plugins.doctor, {}));
    return tell(found, [], context);
  }
  return failureTold(context, async () => {
    const removed = options["fix"] ? await removeOwnLeftovers(stateDir) : [];
    return tell(await findingsHere(), removed, context);
  });
}

async function findingsHere(): Promise<readonly PluginFinding[]> {
  const { paths, planned, sources, bundle } = await pluginsHere();
  return findings({ stateDir: paths.stateDir, planned, ids: await idsOf([...sources, ...bundle]) });
}

/** @returns the removed paths */
async function removeOwnLeftovers(stateDir: string): Promise<readonly string[]> {
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

function tell(found: readonly PluginFinding[], removed: readonly string[], output: CommandContext): number {
  const isBroken = found.some(({ severity }) => severity === "error");
  if (output.json) output.print({ ok: !isBroken, findings: found, removed });
  else output.print(describeFindings(found, removed));
  return isBroken ? 1 : 0;
}

/** Pure. */
function describeFindings(found: readonly PluginFinding[], removed: readonly string[]): string {
  const gone = removed.map((path) => `removed  ${path}`);
  const lines = found.flatMap(({ severity, about, message, next }) => [
    `${severity.padEnd(8)} ${visible(about)}: ${message.split("\n").map(visible).join("\n         ")}`,
    `         Next: ${visible(next)}`,
  ]);
  return [...gone, ...(lines.length > 0 ? lines : ["No problems found with the installed plugins."])].join("\n");
}

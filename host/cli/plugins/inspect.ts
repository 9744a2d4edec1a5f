/**
 * `svc plugins inspect <id>`: all that is known of one plugin. Asks the running gateway; without one, tells what the
 * package says and what the last start made of it. Runs no plugin.
 */
import type { ResultOf } from "@svc/sdk";
import { type PluginReport, plugins } from "@svc/sdk/plugins";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { isLoadable } from "../../kernel/load.ts";
import type { Manifest } from "../../kernel/manifest.ts";
import { EXIT, type Output, refuse } from "../output.ts";
import { plannedPlugins } from "../planned-plugins.ts";
import type { TargetFlags } from "../target.ts";
import { inspectionLines, packageLines } from "./inspection-text.ts";
import { askRunning, lastReport, PATIENCE } from "./live.ts";

export async function inspectPlugin(id: string, flags: TargetFlags, output: Output): Promise<number> {
  const asked = await askRunning(flags, (client) => client.call(plugins.inspect, { id }, { timeoutMs: PATIENCE }));
  const manifest = flags.url ? undefined : await manifestOf(id); // another gateway's packages are not on this machine
  if ("answer" in asked) return show(id, manifest, asked.answer, output);
  const lastStart = lastReport(resolvePaths().startupReport)?.find((entry) => entry.id === id);
  if (!manifest && !lastStart) return refuse(`no plugin "${id}" here\nNext: svc plugins list`, output);
  return showWithout(id, { manifest, lastStart, why: asked.why }, output);
}

async function manifestOf(id: string): Promise<Manifest | undefined> {
  const paths = resolvePaths();
  const { sources } = plannedPlugins(await readConfigFile(paths.configPath, process.env), paths);
  return sources.filter(isLoadable).find(({ manifest }) => manifest?.id === id)?.manifest;
}

function show(
  id: string,
  manifest: Manifest | undefined,
  inspection: ResultOf<typeof plugins.inspect>,
  output: Output,
): number {
  if (output.json) output.print({ source: "gateway", id, manifest, ...inspection });
  else output.print(inspectionLines(inspection).join("\n"));
  return EXIT.ok;
}

function showWithout(
  id: string,
  known: {
    readonly manifest: Manifest | undefined;
    readonly lastStart: PluginReport | undefined;
    readonly why: string;
  },
  output: Output,
): number {
  const { manifest, lastStart, why } = known;
  if (output.json) {
    output.print({ source: lastStart ? "last start" : "nothing", id, manifest, lastStart });
    return EXIT.ok;
  }
  output.note(`What it costs is not known: ${why}`);
  output.print(packageLines(id, manifest, lastStart).join("\n"));
  return EXIT.ok;
}

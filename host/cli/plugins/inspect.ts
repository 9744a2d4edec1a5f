/** `svc plugins inspect <id>`: what the package says, and what the last start made of it. Runs no plugin. */
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { EXIT, type Output, refuse } from "../output.ts";
import { plannedPlugins } from "../planned-plugins.ts";
import { lastReport } from "./live.ts";

export async function inspectPlugin(id: string, output: Output): Promise<number> {
  const paths = resolvePaths();
  const { sources } = plannedPlugins(await readConfigFile(paths.configPath, process.env), paths);
  const source = sources.find((candidate) => "load" in candidate && candidate.manifest?.id === id);
  const report = lastReport(paths.startupReport)?.find((entry) => entry.id === id);
  if (!source && !report) return refuse(`no plugin "${id}" here\nNext: svc plugins list`, output);
  const manifest = source && "load" in source ? source.manifest : undefined;
  output.print({ id, manifest, lastStart: report });
  return EXIT.ok;
}

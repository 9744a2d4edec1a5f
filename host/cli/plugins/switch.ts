/** `svc plugins enable|disable <id>`: the key `plugins.entries.<id>.enabled`, where everything else of the configuration is. */
import { plugins } from "@svc/sdk/plugins";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { createPluginFinder } from "../../kernel/load.ts";
import { setConfig } from "../config/write.ts";
import { atGateway } from "../connect.ts";
import { EXIT, type Output, refuse } from "../output.ts";
import { plannedPlugins } from "../planned-plugins.ts";
import type { TargetFlags } from "../target.ts";
import { idsOf } from "./ids.ts";

/** @returns the exit code */
export async function switchPlugin(id: string, enabled: boolean, flags: TargetFlags, output: Output): Promise<number> {
  if (flags.url !== undefined) {
    const done = await atGateway(flags, (client) => client.call(enabled ? plugins.enable : plugins.disable, { id }));
    output.print(output.json ? done : `${id} is ${done.state}${done.reason === undefined ? "" : `: ${done.reason}`}`);
    return EXIT.ok;
  }
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  const finder = createPluginFinder(paths);
  const ids = await idsOf([...plannedPlugins(file, paths).sources, ...finder.bundle()]);
  if (!ids.has(id)) return refuse(`no plugin "${id}" here\nNext: svc plugins list`, output);
  return setConfig(`plugins.entries.${id}.enabled`, String(enabled), {}, output);
}

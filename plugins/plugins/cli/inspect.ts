/**
 * `svc plugins inspect <id>`: everything known about one plugin. Queries the running gateway; without one, shows the
 * facts of the package and the report of the last start. Runs no plugin.
 */
import { pluginsHere, refuse } from "@svc/cli";
import { isLoadable, type Manifest } from "@svc/host/local";
import { resolvePaths } from "@svc/host/state";
import type { ResultOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { type PluginReport, plugins } from "@svc/sdk/plugins";
import { inspectionLines, packageLines } from "./inspection-text.ts";
import { askRunning, lastReport, PATIENCE } from "./live.ts";

export async function inspectPlugin(id: string, context: CommandContext): Promise<number> {
  const asked = await askRunning(context, (client) => client.call(plugins.inspect, { id }, { timeoutMs: PATIENCE }));
  const manifest = context.options["url"] ? undefined : await manifestOf(id); // the packages of another gateway are not on this machine
  if ("answer" in asked) return show(id, manifest, asked.answer, context);
  const lastStart = lastReport(resolvePaths().startupReport)?.find((entry) => entry.id === id);
  if (!manifest && !lastStart) return refuse(`no plugin "${id}" here\nNext: svc plugins list`, context);
  return showWithout(id, { manifest, lastStart, why: asked.why }, context);
}

async function manifestOf(id: string): Promise<Manifest | undefined> {
  const { sources } = await pluginsHere();
  return sources.filter(isLoadable).find(({ manifest }) => manifest?.id === id)?.manifest;
}

function show(
  id: string,
  manifest: Manifest | undefined,
  inspection: ResultOf<typeof plugins.inspect>,
  context: CommandContext,
): number {
  if (context.json) context.print({ source: "gateway", id, manifest, ...inspection });
  else context.print(inspectionLines(inspection).join("\n"));
  return 0;
}

function showWithout(
  id: string,
  known: {
    readonly manifest: Manifest | undefined;
    readonly lastStart: PluginReport | undefined;
    readonly why: string;
  },
  context: CommandContext,
): number {
  const { manifest, lastStart, why } = known;
  if (context.json) {
    context.print({ source: lastStart ? "last start" : "nothing", id, manifest, lastStart });
    return 0;
  }
  context.note(`Resource usage is unknown: ${why}`);
  context.print(packageLines(id, manifest, lastStart).join("\n"));
  return 0;
}

/** `svc dev <path>`: the gateway with a plugin that is being written, put in place anew whenever one of its files is saved. */
import type { CommandContext } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import type { ReloadReport } from "@svc/sdk/plugins";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type RunFlags, runGateway } from "@svc/cli";
import type { Gateway } from "@svc/host";
import { resolvePaths } from "@svc/host/state";
import { refuse } from "../refusal.ts";
import { watchModules } from "./fresh-modules.ts";
import { type Mishap, mishapOf } from "./place.ts";
import { createDeveloped, type Developed, sourceEntry } from "./source.ts";
import { watchSources } from "./watch.ts";

/** @param place directory of a package, or a file. @returns the exit code */
export async function runDev(place: string, flags: RunFlags, output: CommandContext): Promise<number> {
  const path = resolve(place);
  if (!existsSync(path)) return refuse(`there is nothing at ${path}\nNext: svc plugins new <name>`, output);
  const plugin = createDeveloped(path, { paths: resolvePaths(), forget: watchModules });
  let gateway: Gateway | undefined;
  const stop = await watchSources({
    root: plugin.root,
    built: isBuilt(plugin),
    changed: async (at) => gateway && tellReload(await gateway.reload(plugin.path), at, plugin, output),
    failed: (error) => output.note(`not reloaded: ${messageOf(error)}`),
  });
  try {
    return await runGateway(flags, output, {
      developed: plugin.source,
      up(running) {
        gateway = running;
        tellStart(plugin, output);
      },
    });
  } finally {
    await stop();
  }
}

function isBuilt({ source }: Developed): boolean {
  const found = source();
  return "load" in found && found.manifest !== undefined && /^(\.\/)?dist\//.test(sourceEntry(found.manifest));
}

function tellStart(plugin: Developed, output: CommandContext): void {
  const error = plugin.takeError();
  const mishap = error === undefined ? undefined : mishapOf(error, plugin.root);
  if (output.json) return;
  const watching = `\nwatching ${plugin.root}; types are not checked here: npx tsc --noEmit --watch`;
  output.print(
    mishap ? `\n${lines(mishap).join("\n")}\n  it is tried again when a file is saved${watching}` : watching,
  );
}

function tellReload(report: ReloadReport, at: number, plugin: Developed, output: CommandContext): void {
  const ms = Math.round(performance.now() - at);
  const { id, ok, generation, reason = "it did not say why" } = report;
  const error = plugin.takeError();
  if (ok)
    return output.print(
      output.json ? { reloaded: id, ok, generation, ms } : `reloaded in ${ms} ms (generation ${generation})`,
    );
  const mishap: Mishap = error === undefined ? { message: reason } : mishapOf(error, plugin.root);
  if (output.json)
    return output.print({ reloaded: id, ok, generation, rolledBack: report.rolledBack, ms, reason, ...mishap });
  output.note([...lines(mishap), `  ${whatServes(report)}; it is tried again when a file is saved`].join("\n"));
}

function lines({ message, at }: Mishap): string[] {
  return [`not reloaded: ${message}`, ...(at === undefined ? [] : [`  at ${at}`])];
}

function whatServes({ state, generation, rolledBack }: ReloadReport): string {
  if (state !== "active") return "no version of it serves";
  return rolledBack ? "the former version was started again" : `generation ${generation} serves on`;
}

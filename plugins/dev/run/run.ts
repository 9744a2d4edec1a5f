/**
 * `svc dev <path>`: runs the gateway with a plugin under development and reloads it whenever one of its files is saved.
 */
import { type CommandContext, commandText } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import type { ReloadReport } from "@svc/sdk/plugins";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { refuse, type RunFlags, runGateway } from "@svc/cli";
import type { Gateway } from "@svc/host";
import { resolvePaths } from "@svc/host/state";
import { watchModules } from "./fresh-modules.ts";
import { type Mishap, mishapOf } from "./place.ts";
import { createDeveloped, type Developed, sourceEntry } from "./source.ts";
import { watchSources } from "./watch.ts";

/** @param place directory of a package, or a file @returns the exit code */
export async function runDev(place: string, flags: RunFlags, output: CommandContext): Promise<number> {
  const path = resolve(place);
  if (!existsSync(path))
    return refuse(
      `there is no file or directory at ${path}\nNext: check the path, or create a plugin: svc plugins new <name>`,
      output,
    );
  const env = process.env; // changes affect only this process, in which the gateway runs
  if (!env["SVC_STATE_DIR"] && !env["SVC_CONFIG_PATH"]) env["SVC_STATE_DIR"] = ownState(resolvePaths().stateDir, path);
  const port = flags.port ?? (env["SVC_GATEWAY_PORT"] ? undefined : "0");
  const plugin = createDeveloped(path, { paths: resolvePaths(), forget: watchModules });
  let gateway: Gateway | undefined;
  const stop = await watchSources({
    root: plugin.root,
    built: isBuilt(plugin),
    changed: async (at) => gateway && tellReload(await gateway.reload(plugin.path), at, plugin, output),
    failed: (error) => output.note(`not reloaded: ${messageOf(error)}`),
  });
  try {
    return await runGateway({ ...flags, drain: "5s", ...(port === undefined ? {} : { port }) }, output, {
      developed: plugin.source,
      checkResults: true,
      up(running) {
        gateway = running;
        tellStart(plugin, output);
      },
    });
  } finally {
    await stop();
  }
}

/**
 * Choice: each developed plugin has its own state directory, preserved between runs, below the real one. So unfinished
 * code touches neither the real channels, jobs and sessions nor the gateway that serves them. `SVC_STATE_DIR` and
 * `SVC_CONFIG_PATH` take precedence.
 */
function ownState(stateDir: string, path: string): string {
  const real = realpathSync(path);
  const id = createHash("sha256").update(real).digest("hex").slice(0, 8);
  const directory = join(stateDir, "dev", `${basename(real)}-${id}`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

function isBuilt({ source }: Developed): boolean {
  const found = source();
  return "load" in found && found.manifest !== undefined && /^(\.\/)?dist\//.test(sourceEntry(found.manifest));
}

function tellStart(plugin: Developed, output: CommandContext): void {
  const error = plugin.takeError();
  const mishap = error === undefined ? undefined : mishapOf(error, plugin.root);
  if (output.json) return;
  const watching = `\n${callLine(plugin)}\nwatching ${plugin.root}; types are not checked here: npx tsc --noEmit --watch`;
  output.print(mishap ? `\n${lines(mishap).join("\n")}\n  the next save of a file retries it${watching}` : watching);
}

/** The command line that calls the plugin from another terminal. */
function callLine({ source }: Developed): string {
  const found = source();
  const [namespace] = ("load" in found && found.manifest?.namespaces) || [];
  const method = namespace === undefined ? "<method>" : `${namespace}.<method>`;
  return `call it: ${commandText([`SVC_STATE_DIR=${resolvePaths().stateDir}`])} svc gateway call ${method} --params '{}'`;
}

function tellReload(report: ReloadReport, at: number, plugin: Developed, output: CommandContext): void {
  const ms = Math.round(performance.now() - at);
  const { id, ok, generation, reason = "no reason given" } = report;
  const error = plugin.takeError();
  if (ok)
    return output.print(
      output.json ? { reloaded: id, ok, generation, ms } : `reloaded in ${ms} ms (generation ${generation})`,
    );
  const mishap: Mishap = error === undefined ? { message: reason } : mishapOf(error, plugin.root);
  if (output.json)
    return output.print({ reloaded: id, ok, generation, rolledBack: report.rolledBack, ms, reason, ...mishap });
  output.note([...lines(mishap), `  ${whatServes(report)}; the next save of a file retries it`].join("\n"));
}

function lines({ message, at }: Mishap): string[] {
  return [`not reloaded: ${message}`, ...(at === undefined ? [] : [`  at ${at}`])];
}

function whatServes({ state, generation, rolledBack }: ReloadReport): string {
  if (state !== "active") return "no version is running";
  return rolledBack ? "the previous version was started again" : `the previous version (${generation}) keeps running`;
}

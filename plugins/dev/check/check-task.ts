/**
 * All checks of one plugin, in a process of its own: what the plugin does to it costs nothing else. Started by
 * `check.ts` with the task as its one argument; tells each finding as a message.
 */
import { COMPANIONS } from "@svc/cli";
import { messageOf } from "@svc/sdk/errors";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import type { Command } from "@svc/sdk/cli";
import { loadKinds, staleDeclaration } from "@svc/host";
import { createPluginFinder, importModule, importPlugin, type Manifest, readManifest } from "@svc/host/local";
import { contractProblems, manifestProblems, placementProblems } from "./declarations.ts";
import { failed, type Finding, type Problem, warning } from "./findings.ts";
import { importProblems } from "./imports.ts";
import { type PackageJson, packageProblems } from "./package-facts.ts";
import { readmeProblems } from "./readme.ts";
import { watchSetups } from "./setups.ts";
import { type Samples, tryPlugin } from "./trial.ts";

/** What is to be checked. */
export interface CheckTask {
  /** Of the package; real. */
  readonly directory: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly samples: Samples;
  /** Reloads in a row. Default 20. */
  readonly reloads?: number;
  /** Absolute paths of modules of further kinds of declaration. Default: none. */
  readonly kinds?: readonly string[];
}

/** Choice: enough for a leak to stand out. */
const RELOADS = 20;

export async function checkPlugin(task: CheckTask, found: (finding: Finding) => void): Promise<void> {
  const { directory } = task;
  const json = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as PackageJson;
  const manifest = readManifest(directory);
  if (!manifest) {
    const why = `${directory}/package.json has no "svc.entry", so it is no plugin`;
    return found({ check: "package", problems: [failed(why, "svc plugins new <name>")] });
  }
  const exists = (path: string) => existsSync(join(directory, path));
  found({ check: "package", problems: packageProblems(json, manifest, exists, COMPANIONS) });
  found({ check: "imports", problems: await importProblems(directory, json) });

  const temporary = mkdtempSync(join(tmpdir(), "svc-check-"));
  try {
    await checkCode(task, manifest, temporary, found);
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function checkCode(
  { directory, config, samples, reloads = RELOADS, kinds: files = [] }: CheckTask,
  manifest: Manifest,
  temporary: string,
  found: (finding: Finding) => void,
): Promise<void> {
  const cacheDir = join(temporary, "cache");
  let plugin: Plugin;
  try {
    plugin = await importPlugin(join(directory, manifest.entry), cacheDir);
  } catch (error) {
    const why = `it cannot be imported: ${messageOf(error)}`;
    return found({ check: "start", problems: [failed(why, `correct ${manifest.entry}`)] });
  }
  found({ check: "commands", problems: await commandProblems(manifest, cacheDir) });
  const setups = watchSetups(plugin);
  const kinds = await loadKinds(files, cacheDir);
  const staged = await tryPlugin({
    source: { origin: directory, key: directory, isAwake: true, manifest, load: () => Promise.resolve(setups.plugin) },
    setups,
    finder: createPluginFinder({ configDir: directory, cacheDir, home: temporary }),
    stateDir: join(temporary, "state"),
    config,
    samples,
    reloads,
    kinds: files,
    found,
  });
  if (!staged) return; // nothing is known of it
  const opened = setups.alwaysOpened();
  const next = "setup only declares: open files, sockets and timers in gateway.start(...), every or after";
  found({ check: "setup", problems: opened.length === 0 ? [] : [failed(`setup opens ${opened.join(", ")}`, next)] });
  found({ check: "manifest", problems: manifestProblems(kinds, manifest, staged) });
  found({ check: "contracts", problems: contractProblems(kinds, staged) });
  found({ check: "declared", problems: await declaredProblems(manifest) });
  found({ check: "placement", problems: placementProblems(kinds, manifest, staged) });
  const readme = join(directory, "README.md");
  const text = existsSync(readme) ? readFileSync(readme, "utf8") : undefined;
  found({ check: "readme", problems: readmeProblems(text, plugin, staged) });
}

/** What is written down of a built plugin is what its code declares. */
async function declaredProblems(manifest: Manifest): Promise<Problem[]> {
  const next = "svc plugins declare, after each build";
  const found = await staleDeclaration(manifest);
  if (found === "stale") return [failed("its declared.json is not what its code declares", next)];
  return found ? [warning("it has no declared.json, so its code is imported at every start", next)] : [];
}

/** The verbs that help lists are those that its file has. */
async function commandProblems({ cli, commands = [], directory }: Manifest, cacheDir: string): Promise<Problem[]> {
  if (cli === undefined)
    return commands.map(({ name }) =>
      failed(`it lists the command "${name}" and has no svc.cli`, "name the file in svc.cli"),
    );
  let verbs: readonly Command[];
  try {
    const { default: found } = (await importModule(join(directory, cli), cacheDir)) as { default?: readonly Command[] };
    if (!Array.isArray(found))
      return [failed(`${cli} exports no commands`, "write: export default defineCommands([ ... ])")];
    verbs = found;
  } catch (error) {
    return [failed(`${cli} cannot be imported: ${messageOf(error)}`, `correct ${cli}`)];
  }
  const unknown = commands.filter(({ name, isGroup }) => !isGroup && !verbs.some((verb) => verb.name === name));
  const unlisted = verbs.filter(({ name }) => !commands.some((command) => command.name === name));
  const changed = verbs.filter(({ name, summary }) =>
    commands.some((one) => one.name === name && one.summary !== summary),
  );
  return [
    ...unknown.map(({ name }) =>
      failed(
        `${cli} has no command "${name}", which package.json lists`,
        "svc plugins declare, which writes svc.commands",
      ),
    ),
    ...unlisted.map(({ name }) =>
      failed(`the command "${name}" of ${cli} is not listed`, "svc plugins declare, which writes svc.commands"),
    ),
    ...changed.map(({ name }) =>
      failed(
        `package.json has another summary of the command "${name}"`,
        "svc plugins declare, which writes svc.commands",
      ),
    ),
  ];
}

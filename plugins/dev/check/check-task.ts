/**
 * Runs all checks of one plugin, in a separate process that the plugin may break. `check.ts` starts the process with
 * the task as its only argument. The process sends each finding as a message.
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

/** Task of a check process. */
export interface CheckTask {
  /** Real path of the package. */
  readonly directory: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly samples: Samples;
  /** Number of consecutive reloads. Default 20. */
  readonly reloads?: number;
  /** Absolute paths of modules with further kinds of declarations. Default: none. */
  readonly kinds?: readonly string[];
}

/** Choice: number of reloads; enough to detect a leak. */
const RELOADS = 20;

export async function checkPlugin(task: CheckTask, found: (finding: Finding) => void): Promise<void> {
  const { directory } = task;
  const json = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as PackageJson;
  const manifest = readManifest(directory);
  if (!manifest) {
    const why = `${directory}/package.json has no "svc.entry", so it is not a plugin`;
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
    const why = `the plugin cannot be imported: ${messageOf(error)}`;
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
  if (!staged) return; // the declarations of the plugin are unknown
  const opened = setups.alwaysOpened();
  const next = "setup must only declare: open files, sockets and timers in gateway.start(...), every or after";
  found({ check: "setup", problems: opened.length === 0 ? [] : [failed(`setup opens ${opened.join(", ")}`, next)] });
  found({ check: "manifest", problems: manifestProblems(kinds, manifest, staged) });
  found({ check: "contracts", problems: contractProblems(kinds, staged) });
  found({ check: "declared", problems: await declaredProblems(manifest) });
  found({ check: "placement", problems: placementProblems(kinds, manifest, staged) });
  const readme = join(directory, "README.md");
  const text = existsSync(readme) ? readFileSync(readme, "utf8") : undefined;
  found({ check: "readme", problems: readmeProblems(text, plugin, staged) });
}

/** Checks that the stored declarations of a built plugin match its code. */
async function declaredProblems(manifest: Manifest): Promise<Problem[]> {
  const next = "svc plugins declare, after each build";
  const found = await staleDeclaration(manifest);
  if (found === "stale") return [failed("declared.json does not match the code", next)];
  return found ? [warning("declared.json is missing, so the code is imported at every start", next)] : [];
}

/** Checks that the verbs in package.json match the verbs in the file `svc.cli`. */
async function commandProblems({ cli, commands = [], directory }: Manifest, cacheDir: string): Promise<Problem[]> {
  if (cli === undefined)
    return commands.map(({ name }) =>
      failed(
        `package.json lists the command "${name}" but has no svc.cli`,
        "set svc.cli to the file with the commands",
      ),
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
        `${cli} has no command "${name}", but package.json lists it`,
        "run svc plugins declare, which writes svc.commands",
      ),
    ),
    ...unlisted.map(({ name }) =>
      failed(
        `the command "${name}" of ${cli} is not listed in package.json`,
        "run svc plugins declare, which writes svc.commands",
      ),
    ),
    ...changed.map(({ name }) =>
      failed(
        `package.json has a different summary for the command "${name}"`,
        "run svc plugins declare, which writes svc.commands",
      ),
    ),
  ];
}

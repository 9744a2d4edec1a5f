/**
 * `svc plugins declare [path]`: writes the declarations of a plugin's code to files. The lists in package.json are
 * available without running code. With `declared.json`, a built plugin sleeps until it is used.
 */
import { refuse } from "@svc/cli";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { declarePlugin, loadKinds } from "@svc/host";
import {
  createPluginFinder,
  importModule,
  importPlugin,
  type Manifest,
  readManifest,
  systemClock,
} from "@svc/host/local";
import type { Command, CommandContext } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { readJson5 } from "./check.ts";
import { listsOf } from "./declarations.ts";
import { startTrial } from "./trial.ts";

/** Sections of a configuration file. */
type Config = Readonly<Record<string, unknown>>;

export interface DeclareFlags {
  /** File with the configuration for the setup. */
  readonly config?: string;
}

/** @param place directory of the package @returns 0 if everything was written */
export async function declareAt(place: string, flags: DeclareFlags, output: CommandContext): Promise<number> {
  const path = resolve(place);
  try {
    const manifest = readManifest(path);
    if (!manifest) return refuse(`${path}/package.json has no "svc.entry"\nNext: svc plugins new <name>`, output);
    const changed = await writeLists(manifest, (flags.config === undefined ? {} : readJson5(flags.config)) as Config);
    const isBuilt = !/\.[cm]?ts$/.test(manifest.entry); // for TypeScript, the gateway stores its own declared.json
    const { file, awake } = isBuilt ? await declarePlugin(manifest) : {};
    if (output.json) output.print({ ok: true, changed, ...(file ? { file } : {}), ...(awake ? { awake } : {}) });
    else {
      const keys = changed.map((key) => `svc.${key}`).join(", ");
      output.print(`${path}/package.json: ${changed.length === 0 ? "up to date" : `wrote ${keys}`}`);
      if (file)
        output.print(`${file}: ${awake ? `imported at startup: ${awake}` : "the plugin sleeps until it is used"}`);
    }
    return 0;
  } catch (error) {
    return refuse(
      `${messageOf(error)}\nNext: build the plugin, then: svc plugins declare <directory of the plugin>`,
      output,
    );
  }
}

/** Writes the lists below `svc` in package.json, keeping the order of keys. @returns the changed keys */
async function writeLists(manifest: Manifest, config: Config): Promise<string[]> {
  const file = join(manifest.directory, "package.json");
  const json = JSON.parse(readFileSync(file, "utf8")) as { svc: Record<string, unknown> }; // already read as a manifest
  const lists = await declaredLists(manifest, config);
  const changed = Object.keys(lists).filter((key) => !isDeepStrictEqual(lists[key], json.svc[key]));
  if (changed.length === 0) return [];
  const svc = Object.fromEntries(Object.entries({ ...json.svc, ...lists }).filter(([, value]) => value !== undefined));
  writeFileSync(file, `${JSON.stringify({ ...json, svc }, null, 2)}\n`);
  return changed;
}

/** The lists that package.json must contain. @throws Error if the code cannot be imported or set up */
async function declaredLists(manifest: Manifest, config: Config): Promise<Record<string, unknown>> {
  const { directory, entry } = manifest;
  const temporary = mkdtempSync(join(tmpdir(), "svc-declare-"));
  const cacheDir = join(temporary, "cache");
  try {
    const plugin = await importPlugin(join(directory, entry), cacheDir);
    const { gateway, latest } = await startTrial(
      {
        source: { origin: directory, key: directory, isAwake: true, manifest, load: () => Promise.resolve(plugin) },
        plugin,
        finder: createPluginFinder({ configDir: directory, cacheDir, home: temporary }),
        stateDir: join(temporary, "state"),
        config,
        kinds: [],
      },
      systemClock,
    );
    const staged = latest(); // also set if the gateway rejected the plugin because of the current lists in package.json
    const report = gateway.plugins().find(({ id }) => id === plugin.id);
    await gateway.stop();
    if (!staged)
      throw new Error(
        `the plugin ${plugin.id} is ${report?.state ?? "not loaded"}: ${report?.reason ?? "no reason given"}`,
      );
    const commands = await commandsOf(manifest, cacheDir);
    return { ...listsOf(await loadKinds([], cacheDir), manifest, staged), ...(commands ? { commands } : {}) };
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Summaries of the verbs in the order of package.json; new verbs last. Groups of verbs exist only in package.json. */
async function commandsOf({ cli, commands = [], directory }: Manifest, cacheDir: string) {
  if (cli === undefined) return undefined;
  const { default: verbs } = (await importModule(join(directory, cli), cacheDir)) as { default?: readonly Command[] };
  const left = new Map((verbs ?? []).map(({ name, summary }) => [name, summary]));
  const kept = commands.flatMap((command) => {
    const summary = left.get(command.name);
    left.delete(command.name);
    if (summary !== undefined) return [{ ...command, summary }];
    return command.isGroup ? [command] : [];
  });
  return [...kept, ...[...left].map(([name, summary]) => ({ name, summary }))];
}

/**
 * `svc plugins declare [path]`: writes what the code of a plugin declares. The lists of package.json are known without any code; of a built
 * plugin, `declared.json` lets it sleep until somebody uses it.
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
  /** File with the configuration the plugin is set up with. */
  readonly config?: string;
}

/** @param place directory of the package. @returns 0 when everything is written */
export async function declareAt(place: string, flags: DeclareFlags, output: CommandContext): Promise<number> {
  const path = resolve(place);
  try {
    const manifest = readManifest(path);
    if (!manifest) return refuse(`${path}/package.json has no "svc.entry"\nNext: svc plugins new <name>`, output);
    const changed = await writeLists(manifest, (flags.config === undefined ? {} : readJson5(flags.config)) as Config);
    const isBuilt = !/\.[cm]?ts$/.test(manifest.entry); // of TypeScript the gateway keeps its own declared.json
    const { file, awake } = isBuilt ? await declarePlugin(manifest) : {};
    if (output.json) output.print({ ok: true, changed, ...(file ? { file } : {}), ...(awake ? { awake } : {}) });
    else {
      const keys = changed.map((key) => `svc.${key}`).join(", ");
      output.print(`${path}/package.json: ${changed.length === 0 ? "up to date" : `wrote ${keys}`}`);
      if (file) output.print(`${file}: ${awake ? `imported at the start: ${awake}` : "it sleeps until it is used"}`);
    }
    return 0;
  } catch (error) {
    return refuse(
      `${messageOf(error)}\nNext: build the plugin, then: svc plugins declare <directory of the plugin>`,
      output,
    );
  }
}

/** Writes the lists below `svc` in package.json, each in its place. @returns the keys that changed */
async function writeLists(manifest: Manifest, config: Config): Promise<string[]> {
  const file = join(manifest.directory, "package.json");
  const json = JSON.parse(readFileSync(file, "utf8")) as { svc: Record<string, unknown> }; // it has been read as a manifest
  const lists = await declaredLists(manifest, config);
  const changed = Object.keys(lists).filter((key) => !isDeepStrictEqual(lists[key], json.svc[key]));
  if (changed.length === 0) return [];
  const svc = Object.fromEntries(Object.entries({ ...json.svc, ...lists }).filter(([, value]) => value !== undefined));
  writeFileSync(file, `${JSON.stringify({ ...json, svc }, null, 2)}\n`);
  return changed;
}

/** What package.json has to list. @throws Error the code cannot be imported or set up */
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
    const staged = latest(); // also of a plugin that was refused for the lists it has now
    const report = gateway.plugins().find(({ id }) => id === plugin.id);
    await gateway.stop();
    if (!staged)
      throw new Error(`the plugin is ${report?.state ?? "not there"}: ${report?.reason ?? "no reason given"}`);
    const commands = await commandsOf(manifest, cacheDir);
    return { ...listsOf(await loadKinds([], cacheDir), manifest, staged), ...(commands ? { commands } : {}) };
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** What help says of each verb, in the order of package.json; new ones last. A group of verbs is only in package.json. */
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

/** `svc plugins use`: writes which plugins the gateway runs, and says what that takes away. Starts none of them. */
import type { ConfigEdit } from "@svc/sdk/config";
import { type ConfigFile, readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { createPluginFinder, isLoadable, type PluginSource } from "../../kernel/load.ts";
import { bundleProfiles } from "../../kernel/profiles.ts";
import { valueAt } from "../config/path.ts";
import { changeConfig } from "../config/write.ts";
import { EXIT, type Output, refuse, WrongUsage } from "../output.ts";
import { installedSources } from "../../install/sources.ts";
import { plannedPlugins, pluginsSection } from "../planned-plugins.ts";
import { selectPlugins, withUse } from "./selection.ts";

export interface UseFlags {
  readonly profile?: string;
  readonly withRequirements?: boolean;
}

/** @param words a profile, or ids, package names and paths. @returns the exit code */
export async function usePlugins(words: readonly string[], flags: UseFlags, output: Output): Promise<number> {
  const profiles = bundleProfiles();
  const [only = "", ...others] = words;
  const named = flags.profile ?? (others.length === 0 && profiles.has(only) ? only : undefined);
  const names = named !== flags.profile ? [] : words;
  if (named === undefined && names.length === 0) {
    const lines = [...profiles].map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`);
    throw new WrongUsage(["name a profile, or plugins by id:", ...lines].join("\n"));
  }

  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  const finder = createPluginFinder(paths);
  const installed = installedSources(paths).filter(isLoadable);
  const selection = await selectPlugins(
    { profile: named, names, withRequirements: flags.withRequirements ?? false },
    { section: pluginsSection(file), finder, profiles, installed, command: commandLine(words, flags) },
  );
  if (typeof selection === "string") return refuse(`Nothing was changed: ${selection}`, output);

  const { use, plugins, added } = selection;
  const before = plannedPlugins(file, paths);
  const used = before.sources.filter(isLoadable);
  const gone = leaving(
    used.filter(({ manifest }) => !before.disabled.has(manifest?.id ?? "")),
    plugins,
  );
  const ids = plugins.map(({ id }) => id);
  const lines = [
    `In use: ${ids.join(", ")}`,
    ...(added.length > 0 ? [`Added, because others need them: ${added.join(", ")}`] : []),
    ...(gone.length > 0 ? [`Methods that go away, with all below them: ${gone.join(", ")}`] : []),
  ];
  const more = { lines, facts: { use: use ?? null, plugins: ids, added, gone } };
  const edit: ConfigEdit = { path: ["plugins", "use"], ...(use ? { value: [...use] } : {}) };
  const absent = use === undefined && valueAt(file.parsed, ["plugins", "use"]) === undefined;
  if (absent) {
    output.print(output.json ? { path: file.path, changed: [], reload: null, ...more.facts } : saysSo(file));
    return EXIT.ok;
  }
  return changeConfig({ action: "plugins.use", more, next: (now) => using(now, use) }, output, () => [edit]);
}

function saysSo({ path }: ConfigFile): string {
  return `${path} says that already: it has no plugins.use, which means the whole bundle.`;
}

/** For the next step: what was typed. */
function commandLine(words: readonly string[], { profile }: UseFlags): string {
  return ["svc plugins use", ...(profile === undefined ? [] : ["--profile", profile]), ...words].join(" ");
}

/** Names of methods, or of all below them, that only plugins of `before` serve. Pure. */
function leaving(before: readonly PluginSource[], after: readonly { readonly source: PluginSource }[]): string[] {
  const stays = new Set(after.flatMap(({ source }) => source.manifest?.namespaces ?? []));
  const all = before.flatMap(({ manifest }) => manifest?.namespaces ?? []);
  return [...new Set(all)].filter((prefix) => !stays.has(prefix)).sort();
}

/** The file as it will be. Pure. */
function using(file: ConfigFile, use: readonly string[] | undefined): ConfigFile {
  return { ...file, resolved: { ...file.resolved, plugins: withUse(pluginsSection(file), use) } };
}

/** `svc plugins use`: writes the list of plugins the gateway runs, and reports removed methods. Starts no plugin. */
import { changeConfig, pluginsHere, refuse, selectHere, withUse, WrongUsage } from "@svc/cli";
import { bundleProfiles, isLoadable, type PluginSource, valueAt } from "@svc/host/local";
import type { CommandContext } from "@svc/sdk/cli";
import type { ConfigEdit } from "@svc/sdk/config";

interface UseFlags {
  readonly profile?: string;
  readonly withRequirements?: boolean;
}

/** @param words a profile, or ids, package names and paths @returns the exit code */
export async function usePlugins(words: readonly string[], context: CommandContext): Promise<number> {
  const flags: UseFlags = context.options;
  const profiles = bundleProfiles();
  const [only = "", ...others] = words;
  const named = flags.profile ?? (others.length === 0 && profiles.has(only) ? only : undefined);
  const names = named !== flags.profile ? [] : words;
  if (named === undefined && names.length === 0) {
    const lines = [...profiles].map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`);
    throw new WrongUsage(["name a profile, or plugins by id:", ...lines].join("\n"));
  }

  const wanted = { profile: named, names, withRequirements: flags.withRequirements ?? false };
  const selection = await selectHere(wanted, commandLine(words, flags), { withInstalled: true });
  if (typeof selection === "string") return refuse(`Nothing was changed: ${selection}`, context);

  const { use, plugins, added } = selection;
  const { file, sources, disabled } = await pluginsHere();
  const used = sources.filter(isLoadable);
  const gone = leaving(
    used.filter(({ manifest }) => !disabled.has(manifest?.id ?? "")),
    plugins,
  );
  const ids = plugins.map(({ id }) => id);
  const lines = [
    `In use: ${ids.join(", ")}`,
    ...(added.length > 0 ? [`Added, because others need them: ${added.join(", ")}`] : []),
    ...(gone.length > 0 ? [`Methods no longer available, including all below: ${gone.join(", ")}`] : []),
  ];
  const more = { lines, facts: { use: use ?? null, plugins: ids, added, gone } };
  const edit: ConfigEdit = { path: ["plugins", "use"], ...(use ? { value: [...use] } : {}) };
  const absent = use === undefined && valueAt(file.parsed, ["plugins", "use"]) === undefined;
  if (absent) {
    const { path } = file;
    const words = `${path} is unchanged: it has no plugins.use, which means the whole bundle.`;
    context.print(context.json ? { path, changed: [], reload: null, ...more.facts } : words);
    return 0;
  }
  return changeConfig({ action: "plugins.use", more, next: (now) => withUse(now, use) }, context, () => [edit]);
}

/** The typed command line, for the next step. */
function commandLine(words: readonly string[], { profile }: UseFlags): string {
  return ["svc plugins use", ...(profile === undefined ? [] : ["--profile", profile]), ...words].join(" ");
}

/** Method names and prefixes served only by plugins of `before`. Pure. */
function leaving(before: readonly PluginSource[], after: readonly { readonly source: PluginSource }[]): string[] {
  const stays = new Set(after.flatMap(({ source }) => source.manifest?.namespaces ?? []));
  const all = before.flatMap(({ manifest }) => manifest?.namespaces ?? []);
  return [...new Set(all)].filter((prefix) => !stays.has(prefix)).sort();
}

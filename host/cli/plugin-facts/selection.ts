/** Which plugins a person means (a profile, a list, or what the configuration says), and whether they can do without others. */
import { messageOf } from "@svc/sdk/errors";
import type { Plugin } from "@svc/sdk";
import {
  apiMismatch,
  bundleProfiles,
  createPluginFinder,
  hostServices,
  installedSources,
  isLoadable,
  type MissingPlugin,
  planPlugins,
  type PluginFinder,
  type PluginSource,
  type PluginsSection,
  type Profile,
} from "@svc/host/local";
import type { ConfigFile } from "@svc/host/state";
import { pluginsHere, pluginsSection } from "../planned-plugins.ts";
import { type Candidate, type Lack, lacksOf, nextStep } from "./explanation.ts";

/** What was asked for. Neither a profile nor names: what the configuration uses. */
export interface Wanted {
  readonly profile?: string | undefined;
  /** Ids, package names or paths; beside those of the profile. */
  readonly names: readonly string[];
  /** Plugins that others cannot do without are added. */
  readonly withRequirements: boolean;
}

export interface SelectionOptions {
  readonly section: PluginsSection;
  readonly finder: PluginFinder;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Those run beside whatever is chosen. Default: none. */
  readonly installed?: readonly PluginSource[];
  /** The command line without options of this choice, for the next step. */
  readonly command: string;
}

/** Plugins that can all run. */
export interface Selection {
  /** For `plugins.use`; `undefined`: the whole bundle. */
  readonly use: readonly string[] | undefined;
  /** In use, without the disabled ones. */
  readonly plugins: readonly SelectedPlugin[];
  /** Ids that `withRequirements` added. */
  readonly added: readonly string[];
}

export interface SelectedPlugin {
  readonly id: string;
  readonly source: PluginSource;
}

/** @returns why not, and the next step, when something is missing */
export async function selectPlugins(wanted: Wanted, options: SelectionOptions): Promise<Selection | string> {
  const listed = listOf(wanted, options);
  if (typeof listed === "string") return listed;
  const { section, finder, installed = [] } = options;
  const plan = planPlugins(finder, sectionWith(section, listed.use), { installed });
  const missing = plan.sources.filter((source): source is MissingPlugin => !isLoadable(source));
  if (missing.length > 0) {
    const lines = missing.map(({ origin, reason }) => `${origin}: ${reason}`);
    return `${lines.join("\n")}\nNext: svc plugins list`;
  }
  const chosen = await Promise.all(plan.sources.filter(isLoadable).map(known));
  const broken = chosen.find(({ id, reason }) => reason !== undefined && !plan.disabled.has(id));
  if (broken) return `${broken.id}: ${broken.reason}\nNext: correct it, or leave ${broken.id} out`;
  const ids = new Set<string>();
  const first = chosen.filter(({ id }) => !ids.has(id) && ids.add(id)); // of two with one id only the first runs
  const spare = await Promise.all(finder.bundle().filter(isLoadable).map(known));
  const candidates = [
    ...first.map((one) => ({ ...one, state: IN_USE })),
    ...spare.filter(({ id }) => !ids.has(id)),
  ].map((one) => (plan.disabled.has(one.id) ? { ...one, state: "disabled" } : one));
  const { all, added, lacks } = completed(candidates, wanted.withRequirements, await hostServices());
  if (lacks.length > 0) return refusal(lacks, wanted, options);
  return {
    use: listed.use && [...listed.use, ...added],
    plugins: all.flatMap(({ id, state, source }) => (state === IN_USE ? [{ id, source }] : [])),
    added,
  };
}

/** Reads as what a start would load and has not. */
const IN_USE = "not started yet";
const NOT_IN_USE = "not in use";

interface Known extends Candidate {
  readonly source: PluginSource;
}

/** The list to write, before requirements. @returns why there is none */
function listOf(
  { profile: name, names }: Wanted,
  { profiles, section }: SelectionOptions,
): { readonly use: readonly string[] | undefined } | string {
  if (name === undefined) return { use: names.length > 0 ? unique(names) : section.use };
  const profile = profiles.get(name);
  if (!profile && profiles.size === 0)
    return `there is no profile "${name}": profiles come with the full bundle, which is not installed\nNext: name the plugins`;
  if (!profile)
    return `there is no profile "${name}"; there are: ${[...profiles.keys()].join(", ")}\nNext: choose one of them`;
  if (profile.plugins) return { use: unique([...profile.plugins, ...names]) };
  if (names.length === 0) return { use: undefined };
  return `profile "${name}" is the whole bundle already\nNext: name only the profile, and further plugins in plugins.load.paths`;
}

/** The file as it is with this list in `plugins.use`. Pure. */
export function withUse(file: ConfigFile, use: readonly string[] | undefined): ConfigFile {
  return { ...file, resolved: { ...file.resolved, plugins: sectionWith(pluginsSection(file), use) } };
}

function sectionWith({ use: _former, ...others }: PluginsSection, use: readonly string[] | undefined): PluginsSection {
  return use ? { ...others, use: [...use] } : others;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/** With its code, or why it has none. Importing runs nothing of a plugin. */
async function known(source: PluginSource): Promise<Known> {
  const { manifest, origin } = source;
  const mismatch = manifest && apiMismatch(manifest.api);
  const loaded = mismatch ?? (await load(source));
  const plugin = typeof loaded === "string" ? undefined : loaded;
  return {
    id: plugin?.id ?? manifest?.id ?? origin,
    state: NOT_IN_USE,
    plugin,
    source,
    ...(typeof loaded === "string" ? { reason: loaded } : {}),
  };
}

async function load(source: PluginSource): Promise<Plugin | string> {
  try {
    return await source.load();
  } catch (error) {
    return `it cannot be imported: ${messageOf(error)}`;
  }
}

interface Unmet extends Lack {
  readonly by: Candidate;
}

/** Takes providers in until nothing is lacking, where that is asked for and there is exactly one of them. Pure. */
function completed(candidates: readonly Known[], add: boolean, always: ReadonlySet<string>) {
  let all = candidates;
  const added: string[] = [];
  for (;;) {
    const users = all.filter(({ state }) => state === IN_USE);
    const lacks = users.flatMap((by) => lacksOf(by, all, always).map((lack): Unmet => ({ ...lack, by })));
    const provider = add ? lacks.map(onlySpare).find((id) => id !== undefined) : undefined;
    if (provider === undefined) return { all, added, lacks };
    added.push(provider);
    all = all.map((one) => (one.id === provider ? { ...one, state: IN_USE } : one));
  }
}

/** The one plugin that would provide it. */
function onlySpare({ providers }: Lack): string | undefined {
  const [provider, ...others] = providers.filter(({ state }) => state === NOT_IN_USE);
  return others.length === 0 && provider?.state === NOT_IN_USE ? provider.id : undefined;
}

function refusal(lacks: readonly Unmet[], wanted: Wanted, { command }: SelectionOptions): string {
  const lines = lacks.map(({ by, service, providers }) => {
    const who = providers.map(({ id, state }) => `${id} (${state})`).join(" or ");
    return `${by.id} needs the service ${service}: ${who ? `provided by ${who}` : "no installed plugin provides it"}`;
  });
  const [first] = lacks;
  const canAdd = !wanted.withRequirements && lacks.every((lack) => onlySpare(lack) !== undefined);
  const choice = first && first.providers.length > 1 ? `name one of them, too: ${command}` : undefined;
  const next = canAdd
    ? `${command} --with-requirements`
    : (choice ?? (first && nextStep({ ...first.by }, [first], undefined)));
  return `${lines.join("\n")}\nNext: ${next ?? command}`;
}

/**
 * `selectPlugins` from the configuration and the bundle of this machine.
 * @param command the command line without options of this choice
 * @param options.withInstalled beside what `svc plugins install` installed; default: as if nothing was
 * @returns the choice and the whole bundle, or why not and the next step
 */
export async function selectHere(
  wanted: Wanted,
  command: string,
  { withInstalled = false } = {},
): Promise<(Selection & { readonly bundle: readonly PluginSource[] }) | string> {
  const { paths, section, bundle } = await pluginsHere();
  const installed = withInstalled ? installedSources(paths).filter(isLoadable) : [];
  const finder = createPluginFinder(paths);
  const selection = await selectPlugins(wanted, { section, finder, profiles: bundleProfiles(), installed, command });
  return typeof selection === "string" ? selection : { ...selection, bundle: bundle.filter(isLoadable) };
}

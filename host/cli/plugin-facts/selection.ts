/** Resolves a selection of plugins (a profile, a list, or the configuration) and checks that all required services are provided. */
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

/** The requested selection. Without a profile and names: the plugins the configuration uses. */
export interface Wanted {
  readonly profile?: string | undefined;
  /** Ids, package names or paths, in addition to those of the profile. */
  readonly names: readonly string[];
  /** Also add plugins that the selected ones require. */
  readonly withRequirements: boolean;
}

export interface SelectionOptions {
  readonly section: PluginsSection;
  readonly finder: PluginFinder;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Installed plugins, which run in addition to the selection. Default: none. */
  readonly installed?: readonly PluginSource[];
  /** The command line without the selection options, for the next step. */
  readonly command: string;
}

/** A set of plugins whose requirements are met. */
export interface Selection {
  /** Value for `plugins.use`; `undefined`: the whole bundle. */
  readonly use: readonly string[] | undefined;
  /** Plugins in use, without disabled ones. */
  readonly plugins: readonly SelectedPlugin[];
  /** Ids that `withRequirements` added. */
  readonly added: readonly string[];
}

export interface SelectedPlugin {
  readonly id: string;
  readonly source: PluginSource;
}

/** @returns the selection, or the reason and the next step if something is missing */
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
  if (broken) return `${broken.id}: ${broken.reason}\nNext: fix it, or leave ${broken.id} out`;
  const ids = new Set<string>();
  const first = chosen.filter(({ id }) => !ids.has(id) && ids.add(id)); // of two plugins with the same id only the first runs
  const { entries = {} } = section;
  const spare = await Promise.all(planPlugins(finder, { entries }, {}).sources.filter(isLoadable).map(known));
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

/** State of plugins that a start would load but has not loaded yet. */
const IN_USE = "not started yet";
const NOT_IN_USE = "not in use";

interface Known extends Candidate {
  readonly source: PluginSource;
}

/** The list for `plugins.use` without added requirements. @returns a text if the selection is invalid: the reason */
function listOf(
  { profile: name, names }: Wanted,
  { profiles, section }: SelectionOptions,
): { readonly use: readonly string[] | undefined } | string {
  if (name === undefined) return { use: names.length > 0 ? unique(names) : section.use };
  const profile = profiles.get(name);
  if (!profile && profiles.size === 0)
    return `there is no profile "${name}": profiles come with the full bundle, which is not installed\nNext: name the plugins`;
  if (!profile)
    return `there is no profile "${name}"; available: ${[...profiles.keys()].join(", ")}\nNext: choose one of them`;
  if (profile.plugins) return { use: unique([...profile.plugins, ...names]) };
  if (names.length === 0) return { use: undefined };
  return `profile "${name}" already includes the whole bundle\nNext: name only the profile, and list further plugins in plugins.load.paths`;
}

/** The file with this list in `plugins.use`. Pure. */
export function withUse(file: ConfigFile, use: readonly string[] | undefined): ConfigFile {
  return { ...file, resolved: { ...file.resolved, plugins: sectionWith(pluginsSection(file), use) } };
}

function sectionWith({ use: _former, ...others }: PluginsSection, use: readonly string[] | undefined): PluginsSection {
  return use ? { ...others, use: [...use] } : others;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/** Adds the plugin's code, or the reason why it cannot be imported. Importing does not run the plugin. */
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

/** With `add`: adds providers until no service is missing, each only if it is the sole candidate. Pure. */
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

/** The only plugin that would provide the service, if there is exactly one. */
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
  const choice = first && first.providers.length > 1 ? `also name one of them: ${command}` : undefined;
  const next = canAdd
    ? `${command} --with-requirements`
    : (choice ?? (first && nextStep({ ...first.by }, [first], undefined)));
  return `${lines.join("\n")}\nNext: ${next ?? command}`;
}

/**
 * `selectPlugins` from the configuration and the bundle of this machine.
 * @param command the command line without the selection options
 * @param options.withInstalled include plugins installed with `svc plugins install`; default: ignore them
 * @returns the selection and the whole bundle, or the reason for the refusal and the next step
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

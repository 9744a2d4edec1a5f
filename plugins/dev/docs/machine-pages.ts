/**
 * Pages about the plugins of this machine: plugins, contributions, commands of `svc`, configuration keys. Starts no
 * gateway.
 */
import { allVerbs, loadOwners, type PluginsHere, pluginsHere } from "@svc/cli";
import { composeSchema, isLoadable, type Manifest, type SectionOwner, sectionPath } from "@svc/host/local";
import type { TSchema } from "@svc/sdk";
import { type Page, typeText } from "./page.ts";

/** Reads the packages once for all topics. */
export function machinePages() {
  let here: Promise<PluginsHere> | undefined;
  const machine = () => (here ??= pluginsHere());
  return {
    plugins: async () => manifestsOf(await machine()).map(pluginPage),
    contributions: async () => manifestsOf(await machine()).flatMap(contributionsOf),
    commands: async () => (await allVerbs()).map(commandPage),
    config: async () => configPages(await ownersOf(await machine())),
  };
}

/** Plugins of the bundle and those the configuration adds, each id once. */
function manifestsOf({ sources, bundle }: PluginsHere): Manifest[] {
  const all = [...bundle, ...sources].filter(isLoadable).flatMap(({ manifest }) => manifest ?? []);
  return [...new Map(all.map((manifest) => [manifest.id, manifest])).values()];
}

function pluginPage({
  id,
  description = "",
  version,
  namespaces,
  section,
  routes,
  contributes,
  commands,
}: Manifest): Page {
  const lists = {
    namespaces,
    routes,
    ...contributes,
    commands: commands?.map(({ name }) => `svc ${name}`),
  };
  return {
    name: id,
    summary: description === "" ? "A plugin without a description." : description,
    facts: [
      ["version", version],
      ["configuration", section ?? id],
      ...Object.entries(lists).flatMap(([label, names = []]) =>
        names.length > 0 ? [[label, names.join(", ")] as const] : [],
      ),
    ],
  };
}

function contributionsOf({ id, contributes = {} }: Manifest): Page[] {
  return Object.entries(contributes).flatMap(([point, names]) =>
    names.map((name) => ({
      name,
      summary: `Contributed to ${point} by the plugin ${id}.`,
      facts: [
        ["extension point", point],
        ["plugin", id],
      ] as const,
    })),
  );
}

function commandPage({ name, summary }: { readonly name: string; readonly summary: string }): Page {
  return { name, summary, facts: [["options", `svc ${name} --help`]] };
}

/** Sections of every plugin of this machine; `plugins.use` is ignored. */
async function ownersOf({ file, paths }: PluginsHere): Promise<readonly SectionOwner[]> {
  const { use: _, ...plugins } = Object(file.resolved["plugins"]) as Readonly<Record<string, unknown>>;
  return (await loadOwners({ ...file, resolved: { ...file.resolved, plugins } }, paths)).installed;
}

type Schema = Readonly<Record<string, unknown>>;

/** A key of the schema, with the properties that it inherits from the keys above. */
interface Key {
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly reload: string | undefined;
}

const TAKES_EFFECT: Readonly<Record<string, string>> = {
  hot: "at once",
  plugin: "with a reload of its plugin",
  restart: "with a restart of the gateway",
};

/** One page per key: `<name>` stands for a key of a map, `[]` for an item of a list. */
function configPages(owners: readonly SectionOwner[]): Page[] {
  const pages = new Map<string, Page>();
  const visit = (key: Key) => {
    const { path, schema } = key;
    const reload = typeof schema["reload"] === "string" ? schema["reload"] : key.reload;
    // In a union, the first member with the key describes the key. An item of a list without a description gets no
    // page.
    const isNamed = path !== "" && !path.endsWith("[]");
    if ((isNamed || schema["description"] !== undefined) && !pages.has(path))
      pages.set(path, configPage({ ...key, reload }, owners));
    for (const [name, child] of entriesOf(schema["properties"])) {
      const required = Array.isArray(schema["required"]) && schema["required"].includes(name);
      visit({ path: path === "" ? name : `${path}.${name}`, schema: child, isRequired: required, reload });
    }
    const inside = [
      ...entriesOf(schema["patternProperties"]).map(([, child]) => child),
      schema["additionalProperties"],
    ];
    for (const child of inside.filter(isSchema))
      visit({ path: `${path}.<name>`, schema: child, isRequired: false, reload });
    if (isSchema(schema["items"])) visit({ path: `${path}[]`, schema: schema["items"], isRequired: false, reload });
    for (const choice of choicesOf(schema)) visit({ ...key, schema: choice, reload });
  };
  visit({ path: "", schema: composeSchema(owners), isRequired: false, reload: undefined });
  return [...pages.values()];
}

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;
const entriesOf = (value: unknown) => Object.entries(Object(value) as Readonly<Record<string, Schema>>);

const choicesOf = (schema: Schema): Schema[] =>
  [schema["anyOf"], schema["oneOf"], schema["allOf"]].flat().filter(isSchema);

/** The description of a schema; for a union without a description, the description of the first member that has one. */
function descriptionOf(schema: Schema): string | undefined {
  const { description } = schema;
  if (typeof description === "string") return description;
  return choicesOf(schema)
    .map(descriptionOf)
    .find((one) => one !== undefined);
}

function configPage({ path, schema, isRequired, reload }: Key, owners: readonly SectionOwner[]): Page {
  const { default: byDefault } = schema;
  const steps = path.split(/\.|(?=\[\])/);
  const owner = owners
    .filter(({ section }) => sectionPath(section).every((step, at) => steps[at] === step))
    .toSorted((one, other) => other.section.length - one.section.length)[0];
  const kind = reload ?? (owner ? "plugin" : "restart");
  return {
    name: path,
    summary: descriptionOf(schema) ?? (path.endsWith(".<name>") ? "An entry under a name." : "A group of keys."),
    facts: [
      ["type", typeText(schema as TSchema)],
      ...(isRequired ? [["required", "yes"] as const] : []),
      ...(byDefault === undefined ? [] : [["default", JSON.stringify(byDefault)] as const]),
      ["owner", owner ? `plugin ${owner.plugin}` : "host"],
      ...("properties" in schema ? [] : [["takes effect", TAKES_EFFECT[kind] ?? kind] as const]), // not for a group
    ],
  };
}

/**
 * Whether a page describes a concrete key, e.g. `a.b[0]`: in the name of a page, `<name>` fits any key, `[]` any index.
 */
export function isKeyOf(page: string, written: string): boolean {
  const steps = (path: string) => path.replace(/\[(\d*)\]/g, ".[$1]").split(".");
  const [pattern, given] = [steps(page), steps(written)];
  return (
    pattern.length === given.length &&
    pattern.every(
      (step, at) =>
        step === given[at] || step === "<name>" || (step === "[]" && /^\[\d*\]$|^\d+$/.test(given[at] ?? "")),
    )
  );
}

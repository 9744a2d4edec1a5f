/** Assigns parts of the configuration to their owners and validates them. Pure. */
import { isDeepStrictEqual } from "node:util";
import { deepFreeze, type Plugin, type TSchema, type Violation, violations, withDefaults } from "@svc/sdk";
import type { ConfigHint } from "@svc/sdk/config";
import { isSecretRef } from "@svc/sdk/secrets";
import type { ConfigFile, Issue } from "./file.ts";
import { withoutForeign } from "./foreign.ts";
import { composeSecretHints } from "./hints.ts";
import { HOST_SECTIONS, type HostConfig } from "./host-schema.ts";
import { isObject, own, type PlainObject } from "./plain-data.ts";
import { perOwners } from "./per-owners.ts";
import { claimedKey, composeSchema, type SectionOwner } from "./schema.ts";
import {
  claimedAction,
  claimProblem,
  isHostKey,
  lookUp,
  openKeys,
  openPlacesIn,
  sectionPath,
  valueAt,
  without,
  withValueAt,
} from "./section-keys.ts";

export { composeHints } from "./hints.ts";
export { composeSchema, type SectionOwner } from "./schema.ts";

/** The configuration passed to a plugin, or a one-line error. */
export type PluginSettings =
  | { readonly value: unknown; readonly sections: Readonly<Record<string, unknown>> }
  | { readonly issue: string };

/** `/auth/mode` below `gateway` -> `gateway.auth.mode`; `/list/0` -> `list[0]`. */
function dotted(section: string, pointer: string): string {
  const path = pointer.replace(/\/(\d+)(?=\/|$)/g, "[$1]").replaceAll("/", ".");
  return section + path.replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * The value of a section in the file. `null` is a value, though an invalid one. If absent: the default of the schema, else an
 * empty list for a list, else `{}`.
 */
export function sectionOf(resolved: ConfigFile["resolved"], section: string, schema?: TSchema): unknown {
  const { found, value } = lookUp(resolved, section);
  if (found) return value;
  const fallback = own(schema, "default");
  if (fallback !== undefined) return structuredClone(fallback);
  return own(schema, "type") === "array" ? [] : {};
}

/** A section with the defaults of its schema; not validated. @param resolved with or without keys that have no effect */
function filledSection(resolved: ConfigFile["resolved"], section: string, schema: TSchema): unknown {
  return withDefaults(schema, sectionOf(resolved, section, schema));
}

/** Replaces "must be string": the host needs its own secrets before any plugin can resolve a reference. */
const NO_REFERENCE =
  'must be text: secret references are not resolved here; put the secret into an environment variable and write "${NAME}"';

/** Issues of a section of the host. */
function hostIssues(section: string, schema: TSchema, value: unknown): Issue[] {
  return violations(schema, value).map((violation) => {
    const node = violation.path.split("/").slice(1).reduce<unknown>(own, value);
    const issue = issueOf(section, violation);
    return isSecretRef(node) && violation.type === "string" ? { ...issue, message: NO_REFERENCE } : issue;
  });
}

/** Issues of one section, with dotted paths. */
function sectionIssues(section: string, schema: TSchema, value: unknown): Issue[] {
  return violations(schema, value).map((violation) => issueOf(section, violation));
}

function issueOf(section: string, { path, message, unexpected }: Violation): Issue {
  return { path: dotted(section, path), message, ...(unexpected === undefined ? {} : { unexpected }) };
}

/**
 * The host's sections without the keys that plugins own in them; absent sections are empty.
 * @param owners default: unknown; then any object at a place where a plugin may own a key is skipped
 * @returns also the issues of these sections and all keys that promise a missing protection; each issue prevents a start
 */
export function hostConfig(
  { resolved, issues }: ConfigFile,
  owners: readonly SectionOwner[] = [],
): { config: HostConfig; issues: Issue[] } {
  const { used, unprotected } = withoutForeign(resolved);
  const found: Issue[] = [...unprotected];
  const owned = ownedSections(owners).map(({ section }) => sectionPath(section));
  const sections = Object.entries(HOST_SECTIONS).map(([section, schema]) => {
    let value = sectionOf(used, section);
    for (const place of openPlacesIn(section)) {
      const here = place.path.slice(1);
      const written = valueAt(value, here);
      const refused = Object.entries(place.refused).filter(([key]) => own(written, key) !== undefined);
      const others = owned
        .filter((path) => path.slice(0, -1).join() === place.path.join())
        .map((path) => path.at(-1) ?? "");
      found.push(...refused.map(([key, message]) => ({ path: [...place.path, key].join("."), message })));
      if (written === undefined) continue;
      const gone = [...others, ...openKeys(place, written), ...refused.map(([key]) => key)];
      value = withValueAt(value, here, (node) => without(node, gone));
    }
    found.push(...hostIssues(section, schema, value));
    return [section, value];
  });
  return {
    config: Object.fromEntries(sections) as HostConfig,
    issues: [...issues, ...withoutFollowUps(issues, found)],
  };
}

/** All issues of a file, given the section owners. */
export function configIssues(file: ConfigFile, owners: readonly SectionOwner[]): Issue[] {
  const found = ownedSections(owners).flatMap(({ section, schema }) =>
    sectionIssues(section, schema, filledSection(withoutForeign(file.resolved).used, section, schema)),
  );
  const inMappings = mappingIssues(file.resolved, owners);
  return [...hostConfig(file, owners).issues, ...withoutFollowUps(file.issues, [...found, ...inMappings])];
}

/**
 * Issues of the sections that a file contains. Choice: a missing section does not prevent a start, even if its plugin requires it;
 * only that plugin stays inactive.
 */
export function writtenIssues(file: ConfigFile, owners: readonly SectionOwner[]): Issue[] {
  const isWritten = ({ section }: SectionOwner) =>
    claimedAction(section) !== undefined || lookUp(file.resolved, section).found;
  return configIssues(file, owners.filter(isWritten));
}

/**
 * Mapping keys that their action does not define, for actions whose keys a plugin claims. The mapping engine checks the other
 * actions with the plugins themselves.
 */
function mappingIssues(resolved: ConfigFile["resolved"], owners: readonly SectionOwner[]): Issue[] {
  const claims = owners.filter(({ section }) => claimedAction(section) !== undefined);
  const ofAll = Object.keys(valueAt(HOST_SECTIONS.hooks, ["properties", "mappings", "items", "properties"]) as object);
  const mappings = valueAt(resolved, ["hooks", "mappings"]);
  return (Array.isArray(mappings) ? (mappings as unknown[]) : []).flatMap((mapping, index): Issue[] => {
    if (!isObject(mapping)) return [];
    const action = mapping["action"];
    const its = claims.filter(({ section }) => action === undefined || claimedAction(section) === action);
    if (its.length === 0 || its.some(({ schema }) => schema === undefined)) return [];
    return Object.keys(mapping).flatMap((key): Issue[] => {
      const schemas = its.flatMap((claim) => claimedKey(claim, key) ?? []);
      if (ofAll.includes(key) || schemas.some((schema) => violations(schema, mapping[key]).length === 0)) return [];
      const [schema] = schemas;
      if (schema) return sectionIssues(`hooks.mappings[${index}].${key}`, schema, mapping[key]);
      if (mapping["transform"] !== undefined) return []; // it may become another action
      const other = claims.find((claim) => claimedKey(claim, key));
      const whose = other ? `, which is a key of the action "${claimedAction(other.section)}"` : "";
      return [{ path: `hooks.mappings[${index}]`, message: `unexpected property '${key}'${whose}`, unexpected: key }];
    });
  });
}

/** Drops follow-up issues: all of them if the file could not be read, and those at a path that already has an issue. */
function withoutFollowUps(known: readonly Issue[], found: readonly Issue[]): readonly Issue[] {
  if (known.some(({ path }) => path === "")) return [];
  return found.filter(({ path }) => !known.some((issue) => issue.path === path));
}

/** The effective configuration: the file plus the defaults of every loaded plugin. */
export function effectiveConfig({ resolved }: ConfigFile, owners: readonly SectionOwner[]): PlainObject {
  let config: unknown = resolved;
  for (const { section, schema } of ownedSections(owners)) {
    const filled = filledSection(resolved, section, schema);
    config = withValueAt(config, sectionPath(section), () => filled);
  }
  return config as PlainObject; // began as an object; only keys were set
}

/** Sections of loaded owners, without claims on keys of the host. The first of two claims on a key wins; a claim on a key covers the keys below. */
export function ownedSections(
  owners: readonly SectionOwner[],
): readonly { readonly section: string; readonly schema: TSchema }[] {
  const bySection = new Map<string, TSchema>();
  for (const { section, schema } of owners)
    if (schema && claimedAction(section) === undefined && !claimProblem(section) && !bySection.has(section))
      bySection.set(section, schema);
  return [...bySection]
    .filter(([section]) => !isBelowAnother(section, bySection))
    .map(([section, schema]) => ({ section, schema }));
}

function isBelowAnother(section: string, all: ReadonlyMap<string, unknown>): boolean {
  const path = sectionPath(section);
  return path.some((_key, index) => index > 0 && all.has(path.slice(0, index).join(".")));
}

/** The declarations of a plugin about its sections. */
type PluginParts = Pick<Plugin, "id" | "config" | "section" | "sections">;

/** A plugin's sections with defaults, frozen, or their first issue. */
export function pluginSection(plugin: PluginParts, file: ConfigFile): PluginSettings {
  const { used: resolved } = withoutForeign(file.resolved);
  const section = plugin.section ?? plugin.id;
  const further = Object.entries(plugin.sections ?? {});
  const claimed = [...(plugin.config ? [section] : []), ...further.map(([key]) => key)];
  for (const [index, key] of claimed.entries()) {
    const problem = claimProblem(key);
    if (problem) return { issue: `${key}: ${problem}` };
    if (claimed.indexOf(key) < index) return { issue: `${key}: the plugin claims this section twice` };
  }
  const unasked = !plugin.config && lookUp(resolved, section).found && !claimed.includes(section);
  if (unasked && !isHostKey(section)) return { issue: `${section}: this plugin has no settings; remove the section` };

  const issues: Issue[] = [];
  const read = (key: string, schema: TSchema) => {
    const value = filledSection(resolved, key, schema);
    issues.push(...sectionIssues(key, schema, value));
    return deepFreeze(value);
  };
  const value = plugin.config ? read(section, plugin.config) : Object.freeze({});
  const sections = Object.freeze(Object.fromEntries(further.map(([key, schema]) => [key, read(key, schema)])));
  const [first, ...more] = issues;
  if (first) return { issue: `${first.path}: ${first.message}${more.length > 0 ? ` (and ${more.length} more)` : ""}` };
  return { value, sections };
}

type SecretHints = Record<string, Pick<ConfigHint, "sensitive">>;

/** The hints about secrets of all sections of the host, and of those of these owners. */
export const composeSecretHintsOf = (owners: readonly SectionOwner[]): SecretHints =>
  composeSecretHints(composeSchema(owners));

/** `composeSecretHintsOf`, with its last result cached. */
export const secretHintsOf: typeof composeSecretHintsOf = perOwners(composeSecretHintsOf);

/** Whether the file changes a plugin's settings from their defaults. */
export function isConfigured(plugin: PluginParts, file: ConfigFile): boolean {
  const sections = [plugin.section ?? plugin.id, ...Object.keys(plugin.sections ?? {})];
  if (!sections.some((section) => lookUp(file.resolved, section).found)) return false;
  return !isDeepStrictEqual(pluginSection(plugin, file), pluginSection(plugin, { ...file, resolved: {} }));
}

/** Keys without a loaded owner. They are kept: a section outlives its plugin. */
export function unownedKeys(file: ConfigFile, owners: readonly SectionOwner[]): Issue[] {
  const { used: resolved } = withoutForeign(file.resolved);
  const isEmpty = (value: unknown) => isObject(value) && Object.keys(value).length === 0; // e.g. its keys are all listed
  const top = Object.keys(resolved).filter((key) => !isHostKey(key) && !isEmpty(resolved[key]));
  const shared = top.filter((key) => isObject(resolved[key]) && isShared(key, owners));
  const below = [
    ...Object.keys(HOST_SECTIONS)
      .flatMap(openPlacesIn)
      .flatMap((place) => openKeys(place, valueAt(resolved, place.path)).map((key) => [...place.path, key])),
    ...shared.flatMap((section) => Object.keys(own(resolved, section) as PlainObject).map((key) => [section, key])),
  ].map((path) => path.join("."));
  const whole = top.filter((key) => !shared.includes(key));
  return [...whole, ...below]
    .filter((key) => !owners.some(({ section, schema }) => section === key && schema))
    .map((key) => {
      const owner = owners.find(({ section }) => section === key);
      const why = owner ? `plugin ${owner.plugin} is not running` : "no plugin in use has this section";
      return { path: key, message: `not used: ${why}; kept unchanged` };
    });
}

/** Whether plugins own keys below this one and no plugin owns the whole key. */
function isShared(key: string, owners: readonly SectionOwner[]): boolean {
  const isBelow = ({ section }: SectionOwner) => section !== key && sectionPath(section)[0] === key;
  return owners.some(isBelow) && !owners.some(({ section, schema }) => section === key && schema);
}

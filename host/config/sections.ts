/** Which part of the configuration belongs to whom, and whether it is right. Pure. */
import { deepFreeze, type Plugin, type TSchema, violations, withDefaults } from "@svc/sdk";
import type { ConfigFile, Issue } from "./file.ts";
import { FREE_KEYS, HOST_SECTIONS, type HostConfig } from "./host-schema.ts";

/** A plugin's claim on a top-level key. `schema` is absent while the plugin is not loaded. */
export interface SectionOwner {
  readonly section: string;
  readonly plugin: string;
  readonly schema: TSchema | undefined;
}

/** `/auth/mode` below `gateway` -> `gateway.auth.mode`; `/list/0` -> `list[0]`. */
function dotted(section: string, pointer: string): string {
  const path = pointer.replace(/\/(\d+)(?=\/|$)/g, "[$1]").replaceAll("/", ".");
  return section + path.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** What the file says under a top-level key, `{}` when it says nothing. `null` is a value, and a wrong one. */
export function sectionOf(resolved: ConfigFile["resolved"], section: string): unknown {
  return Object.hasOwn(resolved, section) ? resolved[section] : {};
}

/** What is wrong with one section, in dotted paths. */
export function sectionIssues(section: string, schema: TSchema, value: unknown): Issue[] {
  return violations(schema, value).map(({ path, message }) => ({ path: dotted(section, path), message }));
}

/** The host's sections, absent ones empty. @returns also what is wrong with them: those issues stop a start */
export function hostConfig({ resolved, issues }: ConfigFile): { config: HostConfig; issues: Issue[] } {
  const found: Issue[] = [...issues];
  const sections = Object.entries(HOST_SECTIONS).map(([section, schema]) => {
    const value = sectionOf(resolved, section);
    found.push(...sectionIssues(section, schema, value));
    return [section, value];
  });
  return { config: Object.fromEntries(sections) as HostConfig, issues: found };
}

/** A plugin's section with defaults, frozen, or what is wrong with it in one line. */
export function pluginSection(plugin: Plugin, { resolved }: ConfigFile): { value: unknown } | { issue: string } {
  const section = plugin.section ?? plugin.id;
  if (!plugin.config) {
    return Object.hasOwn(resolved, section)
      ? { issue: `${section}: this plugin has no settings; take the section out` }
      : { value: Object.freeze({}) };
  }
  const value = withDefaults(plugin.config, sectionOf(resolved, section));
  const [first, ...more] = sectionIssues(section, plugin.config, value);
  if (first) return { issue: `${first.path}: ${first.message}${more.length > 0 ? ` (and ${more.length} more)` : ""}` };
  return { value: deepFreeze(value) };
}

/** Keys nobody reads now. They are kept: a section outlives its plugin. */
export function unownedKeys({ resolved }: ConfigFile, owners: readonly SectionOwner[]): Issue[] {
  const mine = new Set([...Object.keys(HOST_SECTIONS), ...FREE_KEYS]);
  return Object.keys(resolved)
    .filter((key) => !mine.has(key) && !owners.some(({ section, schema }) => section === key && schema))
    .map((key) => {
      const owner = owners.find(({ section }) => section === key);
      const why = owner ? `plugin ${owner.plugin} is not running` : "no plugin in use has this section";
      return { path: key, message: `not used: ${why}; it is kept as it is` };
    });
}

/** JSON Schema of everything. Keys of plugins that are not here stay allowed. */
export function composeSchema(owners: readonly SectionOwner[]): Record<string, unknown> {
  const properties: Record<string, unknown> = { $schema: { type: "string" }, meta: { type: "object" } };
  for (const [section, schema] of Object.entries(HOST_SECTIONS)) properties[section] = toJsonSchema(schema);
  for (const { section, schema } of owners) if (schema) properties[section] = toJsonSchema(schema);
  return { $schema: "http://json-schema.org/draft-07/schema#", title: "SvcConfig", type: "object", properties };
}

/** A TypeBox schema is JSON Schema plus hidden keys; a round trip drops those. */
function toJsonSchema(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema));
}

/** Hints for forms: what schemas say about label, help and secrecy, by dotted path (`*` map entry, `[]` array item). */
export function composeHints(schema: unknown): Record<string, unknown> {
  const hints: Record<string, unknown> = {};
  const visit = (node: unknown, path: string) => {
    if (typeof node !== "object" || node === null) return;
    const { sensitive, description, title, properties, items, patternProperties, additionalProperties, ...rest } =
      node as Record<string, unknown>;
    const hint = {
      ...(typeof title === "string" ? { label: title } : {}),
      ...(typeof description === "string" ? { help: description } : {}),
      ...(typeof sensitive === "boolean" ? { sensitive } : {}),
    };
    if (path && Object.keys(hint).length > 0) hints[path] = { ...(hints[path] as object | undefined), ...hint };
    for (const [key, child] of Object.entries(properties ?? {})) visit(child, path ? `${path}.${key}` : key);
    for (const child of Object.values(patternProperties ?? {})) visit(child, `${path}.*`);
    if (typeof additionalProperties === "object") visit(additionalProperties, `${path}.*`);
    if (items) visit(items, `${path}[]`);
    for (const choice of [rest["anyOf"], rest["oneOf"], rest["allOf"]].flat()) visit(choice, path);
  };
  visit(schema, "");
  return hints;
}

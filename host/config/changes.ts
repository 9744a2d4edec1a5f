/** Differences between two configurations, and the kind of reload each one needs. Spec: http/config.md §5. Pure. */
import type { TSchema } from "@svc/sdk";
import type { ReloadKind } from "@svc/sdk/config";
import { HOST_SECTIONS } from "./host-schema.ts";
import { isObject, own, sameData } from "./plain-data.ts";
import { sectionAt } from "./section-keys.ts";
import { ownedSections, type SectionOwner } from "./sections.ts";

/** Keys from the root to a value. */
export type KeyPath = readonly string[];

/** Paths of the smallest differing parts; a list counts as a whole. */
export function changedKeys(before: unknown, after: unknown, path: KeyPath = []): KeyPath[] {
  if (sameData(before, after)) return [];
  const [left, right] = [before ?? {}, after ?? {}];
  if (!isObject(left) || !isObject(right) || before === null || after === null) return [path];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  const below = keys.flatMap((key) => changedKeys(own(left, key), own(right, key), [...path, key]));
  return below.length > 0 ? below : [path]; // an empty object was added or removed
}

/**
 * The reload that a change of the key at `path` needs: the `reload` keyword of the nearest schema node, up to the section
 * itself. Without the keyword: a restart for the host's keys, a plugin reload for those of a plugin. A section without a
 * schema needs no reload (`hot`), since nothing reads it.
 * @param owned sections of plugins
 */
export function reloadKindOf(
  path: KeyPath | string,
  schemaOfSection: TSchema | undefined,
  owned: ReadonlySet<string> = new Set(),
): ReloadKind {
  if (!schemaOfSection) return "hot";
  const all = typeof path === "string" ? path.split(".") : path;
  const section = sectionAt(all, owned);
  const ofHost = section.length === 1 && Object.hasOwn(HOST_SECTIONS, section[0] ?? "");
  let kind = keywordOf([schemaOfSection]) ?? (ofHost ? "restart" : "plugin");
  let nodes: readonly unknown[] = [schemaOfSection];
  for (const key of all.slice(section.length)) {
    nodes = nodes.flatMap((node) => childrenOf(node, key));
    kind = keywordOf(nodes) ?? kind;
  }
  // The host's keys have no defaults, so adding or removing an empty object of them changes no setting.
  return ofHost && nodes.some(isObjectNode) ? "hot" : kind;
}

function isObjectNode(node: unknown): boolean {
  return alternatives(node).some(
    (one) => own(one, "properties") !== undefined || own(one, "patternProperties") !== undefined,
  );
}

/** The members of a union may differ: the strongest counts. */
function keywordOf(nodes: readonly unknown[]): ReloadKind | undefined {
  const kinds = nodes.flatMap(alternatives).map((node) => own(node, "reload"));
  return strongest(kinds.filter((kind) => isReloadKind(kind)));
}

function isReloadKind(value: unknown): value is ReloadKind {
  return typeof value === "string" && STRENGTH.includes(value as ReloadKind);
}

function alternatives(node: unknown): readonly unknown[] {
  const members = ["anyOf", "oneOf", "allOf"].flatMap((key) => own(node, key) ?? []);
  return [node, ...members.flatMap(alternatives)];
}

function childrenOf(parent: unknown, key: string): readonly unknown[] {
  return alternatives(parent).flatMap((node) => {
    const named = own(own(node, "properties"), key);
    if (named !== undefined) return [named];
    const patterns = Object.entries((own(node, "patternProperties") ?? {}) as object);
    const matching = patterns.filter(([pattern]) => new RegExp(pattern).test(key)).map(([, child]) => child as unknown);
    const rest = own(node, "additionalProperties");
    return matching.length > 0 ? matching : isObject(rest) ? [rest] : [];
  });
}

const STRENGTH: readonly ReloadKind[] = ["hot", "plugin", "restart"];

/** @returns `undefined` for an empty list */
export function strongest(kinds: Iterable<ReloadKind>): ReloadKind | undefined {
  const at = Math.max(-1, ...[...kinds].map((kind) => STRENGTH.indexOf(kind)));
  return STRENGTH[at];
}

/** The reload kind of each changed path (dotted), given the section owners. */
export function reloadKinds(changed: readonly KeyPath[], owners: readonly SectionOwner[]): Map<string, ReloadKind> {
  const schemas = new Map<string, TSchema>(ownedSections(owners).map(({ section, schema }) => [section, schema]));
  const owned = new Set(schemas.keys());
  for (const [section, schema] of Object.entries(HOST_SECTIONS)) schemas.set(section, schema);
  const kinds = new Map<string, ReloadKind>();
  for (const path of changed) {
    const schema = schemas.get(sectionAt(path, owned).join("."));
    const [name, kind] = [path.join("."), reloadKindOf(path, schema, owned)];
    kinds.set(name, strongest([kind, kinds.get(name) ?? kind]) ?? kind); // keys containing dots may share a name
  }
  return kinds;
}

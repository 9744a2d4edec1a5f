/** Every key of the composed configuration schema, for generated tests. Pure. */
import type { ReloadKind } from "@svc/sdk/config";
import { HOST_SECTIONS } from "../../host/config/host-schema.ts";
import { sectionAt } from "../../host/config/section-keys.ts";

/** A node of a JSON Schema, as `config.schema` sends it. */
export interface Node {
  /** Several: a value of any of them. */
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly title?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: boolean | Node;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly reload?: ReloadKind;
}

/** `*` is an entry of a map, `[]` an item of a list. */
export interface Place {
  /** Dotted, as in the hints: `models.providers.*.models[].id`. */
  readonly path: string;
  readonly keys: readonly string[];
  readonly node: Node;
}

/** A key with a value. One path may have several: members of a union. */
export interface Leaf extends Place {
  readonly section: string;
  /** As its schema declares, else by the rule of its section. */
  readonly kind: ReloadKind;
}

/** Top-level keys that carry no configuration. */
const FREE = new Set(["$schema", "meta"]);

/** Members of a union, which may be a union of types; empty for other nodes. */
export function alternatives(node: Node): readonly Node[] {
  if (node.anyOf) return node.anyOf;
  if (!Array.isArray(node.type)) return [];
  const { properties, required, additionalProperties, patternProperties, ...plain } = node;
  const object = { properties, required, additionalProperties, patternProperties };
  const present = Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
  return (node.type as readonly string[]).map((type) => ({ ...plain, type, ...(type === "object" ? present : {}) }));
}

/** Every node, unions and lists resolved, outermost first. */
function* nodes(place: Place, kind: ReloadKind): Generator<Place & { readonly kind: ReloadKind }> {
  const { path, keys, node } = place;
  const here = node.reload ?? kind;
  yield { ...place, kind: here };
  const below = (key: string, child: Node) =>
    nodes({ path: key === "[]" ? `${path}[]` : `${path}.${key}`, keys: [...keys, key], node: child }, here);
  const members = alternatives(node);
  for (const member of members) yield* nodes({ path, keys, node: member }, here);
  if (members.length > 0) return;
  for (const [key, child] of Object.entries(node.properties ?? {})) yield* below(key, child);
  for (const child of mapValues(node)) yield* below("*", child);
  if (node.items && holdsKeys(node.items)) yield* below("[]", node.items);
}

function mapValues({ patternProperties = {}, additionalProperties }: Node): readonly Node[] {
  const rest = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [...Object.values(patternProperties), ...rest];
}

function holdsKeys(node: Node): boolean {
  return node.properties !== undefined || mapValues(node).length > 0 || alternatives(node).some(holdsKeys);
}

function isLeaf({ node }: Place): boolean {
  const ownKeys = node.properties !== undefined || mapValues(node).length > 0;
  const listOfObjects = node.items !== undefined && holdsKeys(node.items);
  return alternatives(node).length === 0 && !ownKeys && !listOfObjects;
}

function placesOf(schema: Node): (Place & { readonly section: string; readonly kind: ReloadKind })[] {
  return Object.entries(schema.properties ?? {})
    .filter(([section]) => !FREE.has(section))
    .flatMap(([section, node]) => {
      const kind = Object.hasOwn(HOST_SECTIONS, section) ? "restart" : "plugin";
      return [...nodes({ path: section, keys: [section], node }, kind)].map((place) => inSection(place, section));
    });
}

/** A key below an open place of the host that the host does not own is a section of a plugin. */
function inSection(place: Place & { readonly kind: ReloadKind }, section: string) {
  const path = sectionAt(place.keys, new Set());
  if (path.length === 1) return { ...place, section };
  const kind = place.kind === "restart" ? "plugin" : place.kind; // only the host requests a restart
  return { ...place, section: path.join("."), kind };
}

export function leavesOf(schema: Node): Leaf[] {
  return placesOf(schema).filter(isLeaf);
}

/** Objects with named keys. */
export function objectsOf(schema: Node): Place[] {
  return placesOf(schema).filter(({ node }) => alternatives(node).length === 0 && node.properties !== undefined);
}

/** Places of `reload` keywords inside a list: a list is one value, so they would have no effect. */
export function keywordsInLists(schema: Node): string[] {
  return placesOf(schema)
    .filter(({ keys, node }) => keys.includes("[]") && node.reload !== undefined)
    .map(({ path }) => path);
}

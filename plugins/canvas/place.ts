/** What a path below `/__svc__/` names. Pure. Spec: http/auth.md §11. */

/** Prefix of all paths of this plugin. */
export const PREFIX = "/__svc__";
/** Query parameter of a capability. Spec: protocol/methods-node.md §3. */
const QUERY = "oc_cap";

export interface Place {
  /** `pages`: a file of the root. `reload`: the stream of changes. `base`: the address itself. */
  readonly kind: "base" | "pages" | "a2ui" | "reload";
  /** Path below the kind, decoded; begins with `/`, or is empty. */
  readonly name: string;
  /** Capability in the path. */
  readonly inPath: string | undefined;
  /** Capability in the path or the query. */
  readonly token: string | undefined;
}

const KINDS: ReadonlyMap<string, Place["kind"]> = new Map([
  ["canvas", "pages"],
  ["a2ui", "a2ui"],
  ["ws", "reload"],
]);

/**
 * @param path decoded
 * @param aliases names that existing clients use instead of `svc`: they append `/__<name>__/...` to a capability
 * @returns `undefined`: nothing is served there
 */
export function placeOf(path: string, query: URLSearchParams, aliases: readonly string[]): Place | undefined {
  const [, inPath, scoped] = /^\/__svc__\/cap\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  const token = inPath ?? query.get(QUERY) ?? undefined;
  if (inPath !== undefined && (scoped ?? "/") === "/") return { kind: "base", name: "", inPath, token };
  const rest = withoutPrefix(inPath === undefined ? path : (scoped ?? ""), ["svc", ...aliases]);
  const [, word = "", name = ""] = /^\/([^/]+)(\/.*)?$/.exec(rest ?? "") ?? [];
  const kind = KINDS.get(word);
  return kind && { kind, name, inPath, token };
}

function withoutPrefix(path: string, names: readonly string[]): string | undefined {
  const prefix = names.map((name) => `/__${name}__`).find((one) => path.startsWith(`${one}/`));
  return prefix === undefined ? undefined : path.slice(prefix.length);
}

/** Path of a place for the holder of a capability. */
export function scopedPath(token: string, rest = ""): string {
  return `${PREFIX}/cap/${encodeURIComponent(token)}${rest}`;
}

/** The new configuration while it is made, and what became of each setting of the source. */
import type { ImportAction } from "@svc/sdk/import";
import { at, cut, dotted, isWithin, leaves, type Path, put, type Values } from "./config-paths.ts";

/** What became of the setting at `id`, a path of the source. `take` has no reason. */
export interface SettingItem {
  readonly id: string;
  readonly action: ImportAction;
  /** For people; without secrets. */
  readonly reason?: string;
  /** A command or an action. */
  readonly next?: string;
}

type Fate = Omit<SettingItem, "id">;

export interface Draft {
  readonly source: Values;
  /** Begins as a copy of the source. */
  readonly config: Values;
  /** Values that are put aside, by their path in the source. */
  readonly kept: Values;
  readonly fates: { readonly path: Path; readonly fate: Fate }[];
  readonly moved: { readonly from: Path; readonly to: Path }[];
  readonly weaker: string[];
  readonly stricter: string[];
  readonly warnings: string[];
}

export function createDraft(source: Values): Draft {
  const config = structuredClone(source);
  return { source, config, kept: {}, fates: [], moved: [], weaker: [], stricter: [], warnings: [] };
}

/** Where the value at a path of the new configuration was in the source. */
export function origin({ moved }: Draft, path: Path): Path {
  const move = moved.findLast(({ to }) => isWithin(path, to));
  return move ? [...move.from, ...path.slice(move.to.length)] : path;
}

/** Notes what became of everything at and below a path. A note about a deeper path wins, then a later one. */
export function note(draft: Draft, path: Path, action: ImportAction, reason?: string, next?: string): void {
  const fate = { action, ...(reason === undefined ? {} : { reason }), ...(next === undefined ? {} : { next }) };
  draft.fates.push({ path: origin(draft, path), fate });
}

/** Takes the value at a path out of the new configuration; does nothing if there is none. */
export function remove(draft: Draft, path: Path, action: "keep" | "drop", reason: string, next?: string): void {
  const value = at(draft.config, path);
  if (value === undefined) return;
  note(draft, path, action, reason, next);
  if (action === "keep") draft.kept[dotted(origin(draft, path))] = at(draft.source, origin(draft, path)) ?? value;
  cut(draft.config, path);
}

/** Replaces the value at a path. */
export function convert(draft: Draft, path: Path, value: unknown, reason?: string, next?: string): void {
  put(draft.config, path, value);
  note(draft, path, "convert", reason, next);
}

/** Moves a value to another place. If something is there already, both stay, for validation to decide. */
export function move(draft: Draft, from: Path, to: Path): void {
  if (at(draft.config, from) === undefined || at(draft.config, to) !== undefined) return;
  note(draft, from, "convert", `is ${dotted(to)} here`);
  const before = origin(draft, from);
  put(draft.config, to, cut(draft.config, from));
  draft.moved.push({ from: before, to });
}

/** One item for each leaf of the source. */
export function itemsOf({ source, fates }: Draft): SettingItem[] {
  return leaves(source).map((leaf) => {
    const above = fates
      .filter(({ path }) => isWithin(leaf, path))
      .sort((one, other) => one.path.length - other.path.length);
    const fate = above.at(-1)?.fate ?? changedInside(fates, leaf) ?? { action: "take" };
    return { id: dotted(leaf), ...fate };
  });
}

/** A list of scalars is one leaf: if some of its entries were changed or removed, the leaf was converted. */
function changedInside(fates: Draft["fates"], leaf: Path): Fate | undefined {
  const inside = fates.findLast(({ path }) => isWithin(path, leaf));
  return inside && { ...inside.fate, action: "convert" };
}

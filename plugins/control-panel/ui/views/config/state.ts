/** Unsaved work on the configuration. It outlives the view, so that people can look elsewhere and come back. */
import type { ResultOf } from "@svc/sdk";
import type { config } from "@svc/sdk/config";
import { changesOf, type Conflict, rebase } from "./data.ts";

export type Snapshot = ResultOf<typeof config.get>;
export type Issue = Snapshot["issues"][number];

export interface State {
  /** The file that the draft is based on. */
  base: Snapshot | undefined;
  /** The base is what was just written, as it was entered; the file as the gateway shows it is still to come. */
  isWritten: boolean;
  /** The file as people want it. */
  draft: unknown;
  /** Keys that were changed here and meanwhile in the file; people decide. */
  conflicts: readonly Conflict[];
  /** The file was changed meanwhile, and the changes are on top of it. */
  isRebased: boolean;
  /** Why the gateway refused the changes. */
  issues: readonly Issue[];
  readonly typed: Map<string, { readonly text: string; readonly isWrong: boolean }>;
  /** Paths of groups that people opened. */
  readonly open: Set<string>;
  /** Text of the JSON5 mode, when it differs from that of the file. */
  raw: string | undefined;
  /** Why the last write needs a restart that people start themselves. */
  byHand: string | undefined;
}

const states = new Map<string, State>();

/** @param gateway address: another gateway has another configuration */
export function stateOf(gateway: string): State {
  const known = states.get(gateway);
  if (known) return known;
  const made: State = {
    base: undefined,
    isWritten: false,
    draft: {},
    conflicts: [],
    isRebased: false,
    issues: [],
    typed: new Map(),
    open: new Set(),
    raw: undefined,
    byHand: undefined,
  };
  states.set(gateway, made);
  return made;
}

window.addEventListener("beforeunload", (event) => {
  if ([...states.values()].some(isDirty)) event.preventDefault();
});

/** Whether closing the page would lose something. */
export function isDirty(state: State): boolean {
  const isTyped = [...state.typed.values()].some(({ isWrong }) => isWrong);
  return state.raw !== undefined || isTyped || hasChanges(state);
}

export function hasChanges({ base, draft }: State): boolean {
  return base !== undefined && base.valid && changesOf(base.parsed, draft).length > 0;
}

/** Takes a newly loaded file: own changes stay on top of it. */
export function take(state: State, next: Snapshot): void {
  const { base, isWritten } = state;
  state.isWritten = false;
  if (!isWritten && base?.hash === next.hash && base.valid === next.valid) return void (state.base = next);
  if (!next.valid) {
    // The draft stays as it is until the file can be read again.
    if (!base?.valid || !isDirty(state)) state.base = next;
    return;
  }
  if (base?.valid && isDirty(state)) {
    const { draft, conflicts: found } = rebase(base.parsed, state.draft, next.parsed);
    const conflicts = isWritten && base.hash === next.hash ? [] : found; // the own write, with its secrets hidden
    state.draft = draft;
    const former = state.conflicts.filter(
      ({ path }) => !conflicts.some((one) => one.path.join("\0") === path.join("\0")),
    );
    state.conflicts = [...former, ...conflicts];
    state.isRebased = base.hash !== next.hash;
  } else {
    state.draft = next.parsed;
    state.typed.clear();
    state.issues = [];
  }
  state.base = next;
}

/** After a write: nothing is unsaved, and what people change from now on is on top of it. */
export function wrote(state: State, { hash, config }: Pick<Snapshot, "hash" | "config">): void {
  const isText = state.raw !== undefined;
  if (state.base && !isText) state.base = { ...state.base, hash, config, parsed: state.draft };
  state.isWritten = true;
  discard(state);
}

/** Forgets all unsaved work. */
export function discard(state: State): void {
  state.draft = state.base?.parsed ?? {};
  state.typed.clear();
  state.raw = undefined;
  state.conflicts = [];
  state.issues = [];
  state.isRebased = false;
}

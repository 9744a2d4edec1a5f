/** All sessions, in pages: the newest show at once. A finished reply only loads the sessions used since. */
import type { Static } from "@svc/sdk";
import { chatEvent } from "@svc/sdk/chat";
import { type SessionRow, sessions } from "@svc/sdk/sessions";
import type { ViewContext } from "../../core/app.ts";
import { createResource, type Resource } from "../../core/resource.ts";
import { titleOf } from "../../parts/session.ts";
import { matcher } from "../../parts/words.ts";

export type Row = Static<typeof SessionRow>;

/** Rows of the first page, which people wait for, and of the others. */
const FIRST = 100;
const PAGE = 1_000;
/** Sessions that the view holds. A search beyond asks the gateway. */
export const MAX_ROWS = 20_000;
const MERGE_MS = 500;
const RELOAD_MS = 300_000;

const WITH = { includeGlobal: true, includeUnknown: true, includeDerivedTitles: true } as const;

export interface SessionList {
  /** Newest first. `undefined`: the first page is not there yet. */
  readonly rows: Resource<readonly Row[]>;
  /** There are older sessions than the view holds. */
  readonly isCut: boolean;
  /** Loads one session again, e.g. after a change. Never rejects. */
  refresh(key: string): Promise<void>;
  drop(key: string): void;
  /** Sessions that the gateway finds; for a list that is cut. */
  find(search: string): Promise<readonly Row[]>;
}

export function createList(context: ViewContext): SessionList {
  let isCut = false;
  /** Time of the gateway up to which changes are known, and when it was told. */
  let known: { readonly ts: number; readonly at: number } | undefined;

  async function load(): Promise<readonly Row[]> {
    const rows = new Map<string, Row>();
    let cursor: string | undefined;
    let begun: typeof known;
    do {
      const limit = rows.size === 0 ? FIRST : PAGE;
      const page = await context.call(sessions.list, { ...WITH, limit, ...(cursor === undefined ? {} : { cursor }) });
      begun ??= { ts: page.ts, at: performance.now() };
      for (const row of page.sessions) rows.set(row.key, row);
      cursor = page.nextCursor;
      if (isFirst && !context.signal.aborted) list.set([...rows.values()]);
    } while (cursor !== undefined && rows.size < MAX_ROWS && !context.signal.aborted);
    isFirst = false;
    isCut = cursor !== undefined;
    known = begun;
    return [...rows.values()];
  }

  let isFirst = true;
  const list = createResource(load, context.redraw, context.signal);

  function merge(changed: readonly Row[]): void {
    if (!list.value || changed.length === 0) return;
    const rows = new Map(list.value.map((row) => [row.key, row]));
    for (const row of changed) rows.set(row.key, row);
    list.set([...rows.values()].toSorted((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0)));
  }

  async function loadRecent(): Promise<void> {
    if (!known) return;
    const minutes = Math.ceil((performance.now() - known.at) / 60_000) + 1;
    const at = performance.now();
    const { ts, sessions: recent } = await context.call(sessions.list, { ...WITH, activeMinutes: minutes });
    known = { ts, at };
    merge(recent);
  }

  let planned: ReturnType<typeof setTimeout> | undefined;
  function plan(): void {
    planned ??= setTimeout(() => {
      planned = undefined;
      if (context.signal.aborted) return;
      if (list.isLoading) plan(); // its end would replace the rows
      else loadRecent().catch(() => undefined); // the next event or reload gets it
    }, MERGE_MS);
  }
  context.on(chatEvent, ({ state }) => {
    if (state !== "delta") plan(); // a delta is only a part of a reply
  });
  context.onFresh(() => void list.reload());
  context.every(RELOAD_MS, () => void list.reload());
  if (context.connection.state.kind === "connected") void list.reload();

  return {
    rows: list,
    get isCut() {
      return isCut;
    },
    async refresh(key) {
      const page = await context.call(sessions.list, { ...WITH, key }).catch(() => undefined); // a reload gets it
      if (page) merge(page.sessions);
    },
    drop: (key) => list.set((list.value ?? []).filter((row) => row.key !== key)),
    find: async (search) => (await context.call(sessions.list, { ...WITH, search, limit: PAGE })).sessions,
  };
}

/** What people narrow the list by; empty: all. */
export interface Filter {
  search: string;
  agent: string;
  channel: string;
  kind: string;
  /** Minutes. */
  active: string;
  sort: "newest" | "title" | "tokens";
}

/** The rows that pass, in the order that people chose. Keeps its last result: drawing asks for it each time. */
export function createSelection(): (rows: readonly Row[], filter: Filter) => readonly Row[] {
  const texts = new WeakMap<Row, string>();
  let last: { readonly rows: readonly Row[]; readonly question: string; readonly found: readonly Row[] } | undefined;
  const textOf = (row: Row) => {
    let text = texts.get(row);
    if (text === undefined) {
      text = `${titleOf(row)} ${row.key} ${row.channel ?? ""} ${row.model ?? ""} ${row.sessionId ?? ""}`.toLowerCase();
      texts.set(row, text);
    }
    return text;
  };
  return (rows, filter) => {
    const { search, agent, channel, kind, active, sort } = filter;
    const question = JSON.stringify(filter);
    if (last?.rows === rows && last.question === question) return last.found;
    const matches = matcher(search);
    const since = active === "" ? 0 : Date.now() - Number(active) * 60_000;
    const found = rows.filter(
      (row) =>
        (agent === "" || agentOf(row) === agent) &&
        (channel === "" || row.channel === channel) &&
        (kind === "" || row.kind === kind) &&
        (row.updatedAt ?? 0) >= since &&
        matches(textOf(row)),
    );
    const sorted = sort === "newest" ? found : found.toSorted(ORDERS[sort]);
    last = { rows, question, found: sorted };
    return sorted;
  };
}

const collator = new Intl.Collator(undefined, { numeric: true });
const ORDERS: Readonly<Record<"title" | "tokens", (a: Row, b: Row) => number>> = {
  title: (a, b) => collator.compare(titleOf(a), titleOf(b)),
  tokens: (a, b) => (b.totalTokens ?? -1) - (a.totalTokens ?? -1),
};

/** Agent of a key `agent:<id>:...`; `undefined` for the keys `global` and `unknown`. */
export function agentOf({ key }: Row): string | undefined {
  return /^agent:([^:]+):/.exec(key)?.[1];
}

/** The different values of a field, sorted. Keeps its last result for the same rows. */
export function createChoices(of: (row: Row) => string | undefined): (rows: readonly Row[]) => readonly string[] {
  let last: { readonly rows: readonly Row[]; readonly values: readonly string[] } | undefined;
  return (rows) => {
    if (last?.rows !== rows)
      last = { rows, values: [...new Set(rows.flatMap((row) => of(row) ?? []))].toSorted(collator.compare) };
    return last.values;
  };
}

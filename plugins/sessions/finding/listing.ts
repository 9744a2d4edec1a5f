/** `sessions.list`: selection, order and rows. Spec: protocol/methods-sessions.md §2. */
import { invalidRequest, type ParamsOf, type ResultOf, type Static } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { RunState } from "@svc/sdk/agents";
import type { SessionEntry, SessionRow, sessions } from "@svc/sdk/sessions";
import { agentOf, channelOf, chatTypeOf, type KeyRules, kindOf, mainSessionKey } from "../keys-routing/keys.ts";
import {
  type DefaultsOf,
  isArchived,
  isUnread,
  type ModelDefaults,
  modelOf,
  type StoredSession,
} from "../store/entries.ts";
import type { Cursor, ListFilter } from "../store/statements.ts";
import type { SessionStore } from "../store/store.ts";
import { cutAtWord, oneLine } from "../transcripts/text.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";

export type ListParams = ParamsOf<typeof sessions.list>;
export type ListRow = Static<typeof SessionRow>;

/** Sessions per read, so that a long list does not block the event loop. */
const PAGE = 500;
/** Characters of a derived title. Spec: methods-sessions.md §2. */
const TITLE_CHARS = 60;
/** Characters of a last message. Choice: as many as `sessions.preview` shows by default. */
const LAST_MESSAGE_CHARS = 240;
/** Characters read for a title or last message; more than shown, because white space is collapsed. */
const READ_CHARS = 600;

/** Fields of an entry that rows copy, by type. */
const TEXTS = [
  "label",
  "displayName",
  "channel",
  "subject",
  "groupChannel",
  "space",
  "chatType",
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "elevatedLevel",
  "sendPolicy",
  "responseUsage",
  "groupActivation",
  "execHost",
  "execSecurity",
  "execAsk",
  "execNode",
  "modelOverride",
  "providerOverride",
  "lastChannel",
  "lastTo",
  "lastAccountId",
  "spawnedBy",
  "parentSessionKey",
  "category",
  "icon",
  "color",
];
const FLAGS = ["systemSent", "abortedLastRun"];
const COUNTS = ["inputTokens", "outputTokens", "contextTokens", "pinnedAt", "lastReadAt", "markedUnreadAt"];
const OBJECTS = ["origin", "deliveryContext"];

export interface ListSources {
  /** epoch ms */
  readonly now: number;
  readonly modelDefaults: DefaultsOf;
  readonly rules: KeyRules;
  /** Waiting and running runs of the session, oldest first. Default: none. */
  readonly activeRuns?: (key: string) => readonly RunState[];
}

type ListResult = ResultOf<typeof sessions.list>;

/** Sessions of one page. */
interface Page {
  readonly found: readonly StoredSession[];
  /** How to continue. Absent for a list of one session. */
  readonly paging?: Pick<
    ListResult,
    "nextCursor" | "hasMore" | "nextOffset" | "offset" | "limitApplied" | "totalCount"
  >;
}

/**
 * Handles `sessions.list`. `limit` applies after all filters; without it all sessions are returned.
 * A session that is used while a list of more than `PAGE` is read may be missing from it: clients list again.
 */
export async function listSessions(
  { store, transcripts }: { readonly store: SessionStore; readonly transcripts: Transcripts },
  params: ListParams,
  { now, modelDefaults, rules, activeRuns = () => [] }: ListSources,
): Promise<ListResult> {
  const { found, paging } =
    params.key === undefined ? await pageOf(store, params, now) : { found: await only(store, params.key) };
  const ids = found.map(({ entry }) => entry.sessionId);
  const titles = params.includeDerivedTitles
    ? await inPages(ids, (some) => transcripts.firstUserTexts(some, READ_CHARS))
    : undefined;
  const last = params.includeLastMessage
    ? await inPages(ids, (some) => transcripts.lastTexts(some, READ_CHARS))
    : undefined;
  const defaults = modelDefaults();
  // Assigned, as to copy a row of so many fields takes longer than the rest of the list.
  const rows = found.map((session): ListRow => {
    const { key, entry } = session;
    return Object.assign(
      rowOf(session, hasModel(session) ? defaults : modelDefaults(key)),
      titles && { derivedTitle: derivedTitle(entry, titles.get(entry.sessionId)) },
      lastMessage(last?.get(entry.sessionId)),
      place(key, rules),
      marks(entry),
      runFields(entry, activeRuns(key)),
      { snapshotAt: now },
    );
  });
  return { ts: now, path: store.location, count: rows.length, defaults, sessions: rows, ...paging };
}

/** The sessions that the parameters select. One more is read, which shows whether others follow. */
async function pageOf(store: SessionStore, params: ListParams, now: number): Promise<Page> {
  const { limit = Infinity, offset = 0, cursor } = params;
  const filter = filterOf(params, now);
  const needle = (params.search ?? "").trim().toLowerCase();
  const accept = needle === "" ? undefined : (session: StoredSession) => isFound(session, needle);
  const read = await collect(store, filter, offset + limit + 1, { accept, after: cursorOf(params) });
  const found = read.slice(offset, offset + limit);
  const [end] = found.slice(-1);
  const hasMore = read.length > offset + limit;
  return {
    found,
    paging: {
      hasMore,
      nextOffset: hasMore ? offset + found.length : null,
      ...(hasMore && end && { nextCursor: `${end.entry.updatedAt} ${end.key}` }),
      ...(offset > 0 && { offset }),
      ...(limit !== Infinity && { limitApplied: limit }),
      ...(!hasMore && cursor === undefined && { totalCount: read.length }),
    },
  };
}

function place(key: string, rules: KeyRules): Pick<ListRow, "agentId" | "isMain"> {
  const agentId = agentOf(key, rules);
  return { agentId, isMain: key === mainSessionKey(rules, agentId) };
}

/** Choice: always present, as clients merge a row into the one they have. */
function marks(entry: SessionEntry): Pick<ListRow, "archived" | "archivedAt" | "pinned" | "unread"> {
  const archived = isArchived(entry);
  return {
    archived,
    ...(archived && { archivedAt: entry.archivedAt }),
    pinned: isCount(entry.pinnedAt),
    unread: isUnread(entry),
  };
}

/** Choice: whether a run that ended by itself succeeded is not stored, so `status` is absent then. */
function runFields(
  { abortedLastRun }: SessionEntry,
  runs: readonly RunState[],
): Pick<ListRow, "hasActiveRun" | "activeRunIds" | "startedAt" | "status"> {
  if (runs.length === 0) return abortedLastRun === true ? { status: "killed" } : {};
  const startedAt = runs.find((run) => run.startedAt !== undefined)?.startedAt;
  return {
    hasActiveRun: true,
    activeRunIds: runs.map(({ runId }) => runId),
    status: "running",
    ...(startedAt !== undefined && { startedAt }),
  };
}

/** @throws GatewayError `INVALID_REQUEST` for a text that no list returned */
function cursorOf({ cursor }: ListParams): Cursor | undefined {
  if (cursor === undefined) return undefined;
  const [, updatedAt, key] = /^(\d{1,16}) (.+)$/s.exec(cursor) ?? [];
  if (key === undefined) invalidRequest("the cursor is not one of sessions.list; list again without it");
  return { updatedAt: Number(updatedAt), key };
}

/** Without one the default of its agent is shown, which takes time to find. */
function hasModel({ entry: { model, modelOverride } }: StoredSession): boolean {
  return Boolean(model ?? modelOverride);
}

async function only(store: Pick<SessionStore, "get">, key: string): Promise<StoredSession[]> {
  const entry = await store.get(key);
  return entry ? [{ key, entry }] : [];
}

/** The filter of the parameters. An unknown agent has no sessions. */
export function filterOf(params: ListParams, now: number): ListFilter {
  return {
    agentId: params.agentId?.trim().toLowerCase(),
    label: params.label,
    spawnedBy: params.spawnedBy,
    updatedSince: params.activeMinutes === undefined ? undefined : Math.max(0, now - params.activeMinutes * 60_000),
    includeGlobal: params.includeGlobal,
    includeUnknown: params.includeUnknown,
    archived: params.archived === "all" ? undefined : (params.archived ?? false),
  };
}

/** Narrows a collection. */
interface Collecting {
  /** Default: all. */
  readonly accept?: ((session: StoredSession) => boolean) | undefined;
  /** The last session before the wanted ones. Default: the newest ones are wanted. */
  readonly after?: Cursor | undefined;
}

/** The newest `limit` sessions that pass the filter, and `accept`. */
export async function collect(
  store: Pick<SessionStore, "page">,
  filter: ListFilter,
  limit: number,
  { accept, after: begin }: Collecting = {},
): Promise<StoredSession[]> {
  const found: StoredSession[] = [];
  let after = begin;
  while (found.length < limit) {
    const size = accept ? PAGE : Math.min(PAGE, limit - found.length);
    const page = await store.page(filter, size, after);
    found.push(...(accept ? page.filter(accept) : page));
    const end = page.at(-1);
    if (!end || page.length < size) break;
    after = { updatedAt: end.entry.updatedAt, key: end.key };
  }
  return found.slice(0, limit);
}

/** @param needle lower-case; empty finds everything */
export function isFound({ key, entry }: StoredSession, needle: string): boolean {
  if (needle === "") return true;
  const fields = [entry.displayName, entry.label, entry["subject"], entry.sessionId, key];
  return fields.some((field) => typeof field === "string" && field.toLowerCase().includes(needle));
}

async function inPages<T>(
  ids: readonly string[],
  read: (some: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): Promise<ReadonlyMap<string, T>> {
  const all = new Map<string, T>();
  for (let from = 0; from < ids.length; from += PAGE) {
    for (const [id, value] of await read(ids.slice(from, from + PAGE))) all.set(id, value);
  }
  return all;
}

/** The row of a session. A stored value of an unexpected type is omitted, so that one entry cannot break a list. */
export function rowOf({ key, entry }: StoredSession, defaults: ModelDefaults): ListRow {
  const channel = channelOf(key);
  const chatType = chatTypeOf(key);
  const fresh = isCount(entry.totalTokens) && entry.totalTokensFresh !== false;
  return {
    ...(channel !== undefined && { channel }),
    ...(chatType !== undefined && { chatType }),
    ...pick(entry, TEXTS, (value) => typeof value === "string" && value !== ""),
    ...pick(entry, FLAGS, (value) => typeof value === "boolean"),
    ...pick(entry, COUNTS, isCount),
    ...pick(entry, OBJECTS, (value) => typeof value === "object" && value !== null),
    ...modelOf(entry, defaults),
    ...(fresh && { totalTokens: entry.totalTokens }),
    totalTokensFresh: fresh,
    key,
    kind: kindOf(key, entry["chatType"]),
    sessionId: entry.sessionId,
    updatedAt: entry.updatedAt,
  };
}

function pick(entry: SessionEntry, fields: readonly string[], fits: (value: unknown) => boolean): object {
  const picked: Record<string, unknown> = {};
  for (const field of fields) {
    const value = entry[field];
    if (value !== undefined && fits(value)) picked[field] = value;
  }
  return picked;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

/** At most 60 characters: display name, else subject, else the first text of the user, else id and day. Spec: methods-sessions.md §2. */
export function derivedTitle(entry: SessionEntry, firstUserText = ""): string {
  const candidates = [entry.displayName, entry["subject"], firstUserText];
  const title = candidates.map((text) => (typeof text === "string" ? oneLine(text) : "")).find((text) => text !== "");
  const day = new Date(entry.updatedAt).toISOString().slice(0, 10);
  return title === undefined ? `${entry.sessionId.slice(0, 8)} (${day})` : cutAtWord(title, TITLE_CHARS);
}

function lastMessage(text = ""): { lastMessagePreview?: string } {
  const line = oneLine(text);
  return line === "" ? {} : { lastMessagePreview: cut(line, LAST_MESSAGE_CHARS) };
}

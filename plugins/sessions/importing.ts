/** Importers of sessions, their transcripts and archives. A key that is here stays as it is; its imported messages become an archive. */
import { invalidRequest } from "@svc/sdk";
import {
  ArchiveRecord,
  type GivenRecords,
  type Importer,
  importerOf,
  type ImportOutcome,
  SessionRecord,
  type TranscriptMessage,
  TranscriptRecord,
} from "@svc/sdk/import";
import type { Row, Statement, Storage } from "@svc/sdk/storage";
import type { DamageLog } from "./store/damage.ts";
import { canonicalKey, type KeyRules } from "./keys-routing/keys.ts";
import { type SessionTableRow, toSession } from "./store/entries.ts";
import { insert } from "./store/statements.ts";

export interface ImportingOptions {
  /** Called at each use: the service is available only after the start. */
  readonly storage: () => Storage;
  readonly rules: () => KeyRules;
  readonly damage: Pick<DamageLog, "entry">;
}

/** Choice: records of a page. */
const PAGE = 200;
/** Choice: characters of a page after which it ends. */
const PAGE_CHARS = 4_000_000;
const ROLES: ReadonlySet<string> = new Set(["user", "assistant", "toolResult"]);

/** By kind. */
export function createImporters(options: ImportingOptions): Record<"session" | "transcript" | "archive", Importer> {
  const { storage } = options;
  const count = async (table: string) =>
    Number((await storage().get<{ n: number | bigint }>(`select count(*) as n from ${table}`))?.n ?? 0);
  return {
    session: importerOf(
      { title: "sessions", record: SessionRecord },
      {
        count: () => count("sessions"),
        takeOne: (record) => takeSession(record, options),
        give: (after) => giveSessions(after, options),
      },
    ),
    transcript: importerOf(
      { title: "messages", record: TranscriptRecord },
      {
        count: () => count("transcript"),
        takeOne: (record) => takeTranscript(record, storage()),
        give: (after) => giveTranscripts(after, storage()),
      },
    ),
    archive: importerOf(
      { title: "archived transcripts", record: ArchiveRecord },
      {
        count: () => count("archives"),
        takeOne: (record) => takeArchive(record, storage()),
        give: (after) => giveArchives(after, storage()),
      },
    ),
  };
}

type Outcome = Omit<ImportOutcome, "id">;

async function takeSession({ id, sessionId, updatedAt, entry }: SessionRecord, { storage, rules }: ImportingOptions) {
  const key = canonicalKey(id, rules());
  if (typeof entry["label"] === "string" && entry["label"].includes("\0")) invalidRequest("its label has U+0000");
  const [found] = await storage().all<SessionTableRow>("select * from sessions where key = ?", [key]);
  if (!found) {
    await storage().transaction([insert({ key, entry: { ...entry, sessionId, updatedAt } })]);
    return { action: "take" } satisfies Outcome;
  }
  if (found.session_id === sessionId) return { action: "skip", reason: "the session is here" } satisfies Outcome;
  const archived = await archive({ id: sessionId, key, reason: "kept", archivedAt: updatedAt }, storage());
  const reason = "a session with this key is here; the imported messages are archived";
  return { action: "keep", reason, added: archived } satisfies Outcome;
}

/** Appends the messages that are missing, if the stored ones are the beginning of the imported ones. */
async function takeTranscript(record: TranscriptRecord, storage: Storage): Promise<Outcome> {
  const { id: sessionId, after, messages, compactions = [] } = record;
  for (const { message } of messages)
    if (!ROLES.has(message.role)) invalidRequest(`a message has the unknown role "${message.role}"`);
  const here = await idsOf(sessionId, messages, storage);
  const first = messages.findIndex(({ id }) => !here.has(id));
  const missing = first === -1 ? [] : messages.slice(first);
  const [last] = await storage.all<{ id: string; seq: number | bigint }>(
    "select id, seq from transcript where session_id = ? order by seq desc limit 1",
    [sessionId],
  );
  const before = first > 0 ? messages[first - 1]?.id : after;
  if (missing.length > 0 && last?.id !== before) {
    const reason = `the conversation went on here; ${missing.length} newer messages of the source are left out`;
    return { action: "keep", reason, next: "svc sessions delete, then import again, takes the source's messages" };
  }
  const base = Number(last?.seq ?? 0);
  const rows = missing.map((message, index) => insertMessage(sessionId, base + index + 1, message));
  await storage.transaction([...rows, ...compactions.map((one) => insertCompaction(sessionId, one))]);
  return missing.length === 0 ? { action: "skip" } : { action: "take", added: missing.length };
}

async function idsOf(sessionId: string, messages: readonly TranscriptMessage[], storage: Storage) {
  if (messages.length === 0) return new Set<string>();
  const marks = messages.map(() => "?").join(", ");
  const sql = `select id from transcript where session_id = ? and id in (${marks})`;
  const rows = await storage.all<{ id: string }>(sql, [sessionId, ...messages.map(({ id }) => id)]);
  return new Set(rows.map(({ id }) => id));
}

function insertMessage(sessionId: string, seq: number, { id, at, message }: TranscriptMessage): Statement {
  return {
    sql: "insert into transcript (session_id, seq, id, role, created_at, body) values (?, ?, ?, ?, ?, ?)",
    params: [sessionId, seq, id, message.role, at, JSON.stringify(message)],
  };
}

/** Writes nothing when the first kept message is unknown, or when the summary is there. */
function insertCompaction(sessionId: string, one: NonNullable<TranscriptRecord["compactions"]>[number]): Statement {
  return {
    sql: `insert into compactions (session_id, seq, first_kept_seq, tokens_before, created_at, summary, origin)
      select t.session_id,
        coalesce((select max(c.seq) from compactions c where c.session_id = t.session_id), 0) + 1, t.seq, ?, ?, ?, null
      from transcript t where t.session_id = ? and t.id = ?
        and not exists (select 1 from compactions o where o.session_id = t.session_id and o.first_kept_seq = t.seq and o.created_at = ?)`,
    params: [one.tokensBefore, one.at, one.summary, sessionId, one.firstKeptId, one.at],
  };
}

async function takeArchive(record: ArchiveRecord, storage: Storage): Promise<Outcome> {
  const shown = await storage.get<Row>("select key from sessions where session_id = ? limit 1", [record.id]);
  if (shown) return { action: "skip", reason: `session ${String(shown["key"])} shows it` };
  return (await archive(record, storage)) === 1 ? { action: "take" } : { action: "skip" };
}

/** @returns the number of new rows */
async function archive({ id, key, reason, archivedAt, partOf }: ArchiveRecord, storage: Storage): Promise<number> {
  const sql = `insert into archives (session_id, key, reason, archived_at, part_of) values (?, ?, ?, ?, ?)
    on conflict (session_id) do nothing`;
  const [done] = await storage.transaction([{ sql, params: [id, key, reason, archivedAt, partOf ?? null] }]);
  return done?.changes ?? 0;
}

async function giveSessions(after = "", { storage, damage }: ImportingOptions): Promise<GivenRecords<SessionRecord>> {
  const sql = "select * from sessions where key > ? order by key limit ?";
  const rows = await storage().all<SessionTableRow>(sql, [after, PAGE]);
  const records = rows.map((row) => {
    const { sessionId, updatedAt, ...entry } = toSession(row, damage).entry;
    return { id: row.key, sessionId, updatedAt, entry };
  });
  return page(records, rows.length, rows.at(-1)?.key);
}

interface MessageRow extends Row {
  readonly session_id: string;
  readonly seq: number | bigint;
  readonly id: string;
  readonly created_at: number | bigint;
  readonly body: string;
}

/** The cursor is a session id and the number of its last message, with a space between them. */
async function giveTranscripts(after: string | undefined, storage: Storage): Promise<GivenRecords<TranscriptRecord>> {
  const [sessionId = "", seq = "0"] = after?.split(" ") ?? [];
  const sql = `select session_id, seq, id, created_at, body from transcript
    where (session_id, seq) > (?, ?) order by session_id, seq limit ?`;
  const found = await storage.all<MessageRow>(sql, [sessionId, Number(seq), PAGE]);
  const rows = found.slice(0, fitting(found));
  const last = rows.at(-1);
  const records: { id: string; after?: string; messages: TranscriptMessage[]; compactions?: Compaction[] }[] = [];
  for (const row of rows) {
    const current = records.at(-1);
    const message = parsed(row.body);
    if (!message) continue;
    const item = { id: row.id, at: Number(row.created_at), message };
    if (current?.id === row.session_id) current.messages.push(item);
    else records.push({ id: row.session_id, ...(await before(row, storage)), messages: [item] });
  }
  for (const record of records) {
    const compactions = await compactionsOf(record.id, record.messages, storage);
    if (compactions.length > 0) record.compactions = compactions;
  }
  const isLast = rows.length === found.length && found.length < PAGE;
  return { records, ...(isLast || !last ? {} : { next: `${last.session_id} ${last.seq}` }) };
}

/** How many rows fit in a page; at least one. */
function fitting(rows: readonly MessageRow[]): number {
  let chars = 0;
  const end = rows.findIndex(({ body }) => (chars += body.length) > PAGE_CHARS);
  return end === -1 ? rows.length : Math.max(1, end);
}

async function before({ session_id, seq }: MessageRow, storage: Storage): Promise<{ readonly after?: string }> {
  const sql = "select id from transcript where session_id = ? and seq < ? order by seq desc limit 1";
  const row = await storage.get<{ id: string }>(sql, [session_id, seq]);
  return row ? { after: row.id } : {};
}

type Compaction = NonNullable<TranscriptRecord["compactions"]>[number];

/** Those that kept one of the messages first. */
async function compactionsOf(
  sessionId: string,
  messages: readonly TranscriptMessage[],
  storage: Storage,
): Promise<Compaction[]> {
  type CompactionRow = Row & {
    id: string;
    summary: string;
    tokens_before: number | bigint;
    created_at: number | bigint;
  };
  const rows = await storage.all<CompactionRow>(
    `select t.id, c.summary, c.tokens_before, c.created_at from compactions c
      join transcript t on t.session_id = c.session_id and t.seq = c.first_kept_seq where c.session_id = ? order by c.seq`,
    [sessionId],
  );
  const ids = new Set(messages.map(({ id }) => id));
  return rows.flatMap(({ id, summary, tokens_before: tokens, created_at: at }) =>
    ids.has(id) ? [{ summary, firstKeptId: id, tokensBefore: Number(tokens), at: Number(at) }] : [],
  );
}

/** `undefined` for a damaged row. */
function parsed(body: string): TranscriptMessage["message"] | undefined {
  try {
    const value = JSON.parse(body) as TranscriptMessage["message"] | null; // only `append` and an import write messages
    return Array.isArray(value?.content) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Without those whose messages were withdrawn: they hold none. */
async function giveArchives(after = "", storage: Storage): Promise<GivenRecords<ArchiveRecord>> {
  type ArchiveRow = Row & {
    session_id: string;
    key: string;
    reason: ArchiveRecord["reason"];
    archived_at: number | bigint;
    part_of: string | null;
  };
  const sql = `select a.* from archives a where a.session_id > ?
    and exists (select 1 from transcript t where t.session_id = a.session_id) order by a.session_id limit ?`;
  const rows = await storage.all<ArchiveRow>(sql, [after, PAGE]);
  const records = rows.map((row) => ({
    id: row.session_id,
    key: row.key,
    reason: row.reason,
    archivedAt: Number(row.archived_at),
    ...(row.part_of === null ? {} : { partOf: row.part_of }),
  }));
  return page(records, rows.length, rows.at(-1)?.session_id);
}

function page<R>(records: readonly R[], found: number, next: string | undefined): GivenRecords<R> {
  return { records, ...(found < PAGE || next === undefined ? {} : { next }) };
}

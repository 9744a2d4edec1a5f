/** Conversations in the database of an agent. Facts: design/import.md §2. */
import { createHash } from "node:crypto";
import { isGatewayError, messageOf } from "@svc/sdk";
import type { ArchiveRecord, SessionRecord } from "@svc/sdk/import";
import { decompress } from "fzstd";
import type { ArchivedTranscript, ConversationStore } from "./conversations.ts";
import type { Database, Row } from "./database.ts";
import { keyOf, sessionOf } from "./entries.ts";
import type { MarchOptions } from "./march.ts";
import { parsed, parseLines, type ReadTranscript, readTranscript, type SourceEntry } from "./transcript.ts";
import { isRecord, numberIn, textIn } from "./values.ts";

export function databaseConversations(
  agentId: string,
  database: Database,
  { files, tell }: Pick<MarchOptions, "files" | "tell">,
): ConversationStore {
  const directory = `agents/${agentId}/sessions`;
  const rowsOf = (table: string, sessionId: string, columns: readonly string[], tail = "", optional: string[] = []) =>
    database.rows(table, ["session_id", ...columns], {
      optional,
      tail: `WHERE session_id = ? ${tail}`,
      params: [sessionId],
    });

  function* sessions(): Generator<SessionRecord> {
    const columns = ["session_key", "current_session_id", "entry_json", "updated_at"];
    const tail = "ORDER BY updated_at DESC, session_key"; // of two with the same key here, the newer one comes first
    for (const row of database.rows("session_nodes", columns, { tail })) {
      const [name, entry] = [String(row["session_key"]), parsed(String(row["entry_json"]))];
      const [sessionId, updatedAt] = [row["current_session_id"], row["updated_at"]];
      const session = sessionOf(keyOf(name, agentId), isRecord(entry) ? { ...entry, sessionId, updatedAt } : entry);
      if (typeof session !== "string") yield session;
      else tell({ kind: "session", id: name, action: "refuse", reason: session });
    }
  }

  async function transcript(sessionId: string): Promise<ReadTranscript | undefined> {
    const { events, damaged: damagedBefore } = await coldEvents(sessionId);
    const isCold = events.size > 0;
    let damaged = damagedBefore;
    let last = -1;
    const rows = rowsOf("transcript_events", sessionId, ["seq", "event_json"], "ORDER BY seq", ["event_zstd"]);
    for (const row of rows) {
      const entry = eventIn(row);
      last = Number(row["seq"]);
      if (entry) events.set(last, entry);
      else damaged += 1;
    }
    if (events.size === 0 && damaged === 0) return undefined;
    return told(sessionId, linked(events, isCold ? [] : activeSeqs(sessionId, last)), damaged);
  }

  function told(id: string, entries: readonly SourceEntry[], damaged: number): ReadTranscript {
    const read = readTranscript(entries, damaged > 0);
    const lost = damaged === 0 ? [] : [`${damaged} entries are damaged and left out`];
    for (const reason of [...lost, ...read.faults])
      tell({ kind: "transcript", id, action: "convert", reason, added: 0 });
    return read;
  }

  /** The path that the database has computed; none where it has to compute it anew. */
  function activeSeqs(sessionId: string, last: number): readonly number[] {
    const [index] = rowsOf("session_transcript_index_state", sessionId, ["indexed_seq", "needs_rebuild"]);
    if (!index || index["needs_rebuild"] !== 0 || Number(index["indexed_seq"]) < last) return [];
    const columns = ["active_position", "event_seq"];
    const rows = rowsOf("session_transcript_active_events", sessionId, columns, "ORDER BY active_position");
    return [...rows].map((row) => Number(row["event_seq"]));
  }

  /** Old events that moved from the table into an archive: a header, and one row of the table in each line. */
  async function coldEvents(sessionId: string) {
    const events = new Map<number, SourceEntry>();
    let damaged = 0;
    const columns = ["archive_name", "archive_sha256", "archive_blob"];
    for (const row of database.has(COLD) ? rowsOf(COLD, sessionId, columns) : []) {
      const lines = await archiveLines(row, "cold/");
      damaged += lines?.damaged ?? 0;
      for (const { row: event } of lines?.entries ?? []) {
        if (!isRecord(event)) continue;
        const entry = eventIn(event);
        if (entry) events.set(Number(event["seq"]), entry);
        else damaged += 1;
      }
    }
    return { events, damaged };
  }

  /** Lines of an archive in the database, or of its file. `undefined`: neither can be read, which is told. */
  async function archiveLines(row: Row, place = "") {
    const name = String(row["archive_name"]);
    const file = `${directory}/${place}${name}`;
    const refuse = (reason: string): undefined => {
      tell({ kind: "archive", id: name, action: "refuse", reason });
    };
    try {
      const blob = row["archive_blob"];
      const bytes = blob instanceof Uint8Array && blob.length > 0 ? blob : await files.bytes(file);
      if (!bytes || bytes.length === 0) return refuse(`its content is missing: not in the database, nor in ${file}`);
      if (createHash("sha256").update(bytes).digest("hex") !== row["archive_sha256"])
        return refuse("its content differs from its checksum");
      const text = row["encoding"] === "identity" ? bytes : decompress(bytes);
      return parseLines(Buffer.from(text).toString("utf8"));
    } catch (error) {
      return refuse(isGatewayError(error) ? error.message : `its content is damaged: ${messageOf(error)}`);
    }
  }

  /** Transcripts that sessions had before. */
  function* replaced(transcripts: ReadonlySet<string>): Generator<ArchivedTranscript> {
    const successors = new Map<unknown, Row>();
    const columns = ["previous_session_id", "reason", "created_at"];
    for (const row of database.rows("session_windows", columns, { tail: "WHERE previous_session_id IS NOT NULL" }))
      successors.set(row["previous_session_id"], row);
    for (const table of database.has(COLD) ? ["transcript_events", COLD] : ["transcript_events"])
      for (const row of database.rows(table, ["session_id"], { tail: "GROUP BY session_id" })) {
        const sessionId = String(row["session_id"]);
        if (transcripts.has(sessionId)) continue;
        const [window] = rowsOf("session_windows", sessionId, ["session_key", "updated_at"]);
        const next = successors.get(sessionId);
        yield {
          name: sessionId,
          sessionId,
          key: keyOf(textIn(window?.["session_key"]) ?? sessionId, agentId),
          reason: RESETS.has(String(next?.["reason"])) ? "reset" : "kept",
          at: numberIn(next?.["created_at"]) ?? numberIn(window?.["updated_at"]),
          read: () => transcript(sessionId),
        };
      }
  }

  /** Transcripts that were taken out of the table. */
  function* removed(): Generator<ArchivedTranscript> {
    const columns = ["session_id", "session_key", "reason", "archive_name", "archive_sha256", "created_at"];
    const query = { optional: ["encoding", "archive_blob"], tail: "ORDER BY created_at, archive_name" };
    for (const row of database.rows("session_transcript_archives", columns, query)) {
      const sessionId = String(row["session_id"]);
      yield {
        name: String(row["archive_name"]),
        sessionId,
        key: keyOf(textIn(row["session_key"]) ?? sessionId, agentId),
        reason: REASONS.find((reason) => reason === row["reason"]) ?? "kept",
        at: numberIn(row["created_at"]),
        async read() {
          const lines = await archiveLines(row);
          return lines && told(sessionId, lines.entries, lines.damaged);
        },
      };
    }
  }

  return {
    sessions: sessions(),
    transcript: ({ sessionId }) => transcript(sessionId),
    *archived({ transcripts }) {
      yield* replaced(transcripts);
      yield* removed();
    },
  };
}

/** Archives of old events of sessions that go on. Earlier versions have none. */
const COLD = "session_transcript_cold_archives";
const REASONS = ["reset", "deleted", "bak"] as const satisfies readonly ArchiveRecord["reason"][];
/** Reasons of a session that followed another one by itself or by a command. */
const RESETS: ReadonlySet<string> = new Set(["reset", "rollover"]);

/** The entry of an event, stored as text or compressed. `undefined`: it is damaged. */
function eventIn(row: Row): SourceEntry | undefined {
  const [text, bytes] = [row["event_json"], row["event_zstd"]];
  const entry = parsed(bytes instanceof Uint8Array ? unpacked(bytes) : String(text));
  if (!isRecord(entry)) return undefined;
  // It chooses an earlier entry as the one to go on from.
  return entry["type"] === "leaf" ? { ...entry, parentId: entry["targetId"] ?? entry["parentId"] } : entry;
}

function unpacked(bytes: Uint8Array): string {
  try {
    return Buffer.from(decompress(bytes)).toString("utf8");
  } catch {
    return "";
  }
}

/** The entries in order, those with the numbers `path` last and each the parent of the next one. */
function linked(events: ReadonlyMap<number, SourceEntry>, path: readonly number[]): SourceEntry[] {
  const bySeq = [...events].toSorted(([a], [b]) => a - b);
  const onPath = new Set(path);
  const others = bySeq.flatMap(([seq, entry]) => (onPath.has(seq) ? [] : [entry]));
  const active = path.flatMap((seq) => {
    const entry = events.get(seq);
    return entry ? [{ ...entry, id: textIn(entry["id"]) ?? `event-${seq}` }] : [];
  });
  return [...others, ...active.map((entry, at) => ({ ...entry, parentId: active[at - 1]?.id ?? null }))];
}

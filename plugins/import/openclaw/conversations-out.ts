/** Writes sessions, transcripts and archives as files of OpenClaw 2026.3. An import reads the same records from them. */
import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExportedState, ImportItem } from "@svc/kit/import";
import type { ArchiveRecord, SessionRecord, TranscriptMessage, TranscriptRecord } from "@svc/sdk/import";
import { INJECTED, SESSION_KEY } from "./transcript.ts";

/** Appends text, or JSON of a value, to a file below the directory. */
export type Put = (name: string, content: unknown) => Promise<void>;

export interface ConversationsOut {
  readonly directory: string;
  readonly defaultAgentId: string;
  /** By agent id. */
  readonly workspaces: ReadonlyMap<string, string>;
  readonly put: Put;
  tell(item: ImportItem): void;
}

/** Session ids that the files can have. */
const SAFE = /^[a-z0-9][a-z0-9._-]{0,127}$/iu;
/** Ending of the id of an archive with other branches, and of its file until they are in the file of the transcript. */
const BRANCHES = ".branches";

/** Where a transcript is written. */
interface Place {
  readonly key: string;
  readonly agentId: string;
  /** Relative to the directory. */
  readonly file: string;
}

/** @returns the written records by kind */
export async function conversationsOut(state: ExportedState, options: ConversationsOut) {
  const places = new Map<string, Place>();
  const sessions = await sessionsOut(state.records<SessionRecord>("session"), places, options);
  const archives = await archivePlaces(state.records<ArchiveRecord>("archive"), places, options);
  const messages = await transcriptsOut(state.records<TranscriptRecord>("transcript"), places, options);
  for (const { file } of places.values()) if (file.endsWith(BRANCHES)) await mergeBranches(options.directory, file);
  return { session: sessions, archive: archives, transcript: messages };
}

const agentIn = (key: string, { defaultAgentId }: ConversationsOut) =>
  /^agent:([^:]+):/u.exec(key)?.[1] ?? defaultAgentId;
const fileOf = (agentId: string, name: string) => `agents/${agentId}/sessions/${name}`;

async function sessionsOut(
  records: AsyncIterable<SessionRecord>,
  places: Map<string, Place>,
  options: ConversationsOut,
) {
  const stores = new Map<string, Record<string, unknown>>();
  let count = 0;
  for await (const { id: key, sessionId, updatedAt, entry } of records) {
    const agentId = agentIn(key, options);
    if (!isSafe("session", key, [agentId, sessionId], options.tell)) continue;
    const store = stores.get(agentId) ?? {};
    stores.set(agentId, store);
    const sessionFile = `${sessionId}.jsonl`;
    store[key] = { ...entry, sessionId, updatedAt, sessionFile };
    if (!places.has(sessionId)) places.set(sessionId, { key, agentId, file: fileOf(agentId, sessionFile) });
    count += 1;
  }
  for (const [agentId, store] of stores) await options.put(fileOf(agentId, "sessions.json"), store);
  return count;
}

/** Whether the names can be names of files; `tell` is told if not. */
export function isSafe(kind: string, id: string, names: readonly string[], tell: (item: ImportItem) => void): boolean {
  if (names.every((name) => SAFE.test(name))) return true;
  tell({ kind, id, action: "refuse", reason: "its id cannot be the name of a file" });
  return false;
}

async function archivePlaces(
  records: AsyncIterable<ArchiveRecord>,
  places: Map<string, Place>,
  options: ConversationsOut,
) {
  let count = 0;
  for await (const record of records) {
    const { id, key, partOf = id } = record;
    const agentId = agentIn(key, options);
    if (!isSafe("archive", id, [agentId, id, partOf], options.tell)) continue;
    const whole = id === `${partOf}${BRANCHES}` ? places.get(partOf) : undefined;
    const place = whole
      ? { ...whole, file: whole.file + BRANCHES }
      : { key, agentId, file: fileOf(agentId, nameOf(record)) };
    if (!places.has(id)) places.set(id, place);
    count += 1;
  }
  return count;
}

/** The name from which an import makes the same id. */
function nameOf({ id, partOf, reason, archivedAt }: ArchiveRecord): string {
  if (reason === "kept") return `${id}.jsonl`;
  const owner = partOf !== undefined && id === `${partOf}.${reason}.${archivedAt}` ? partOf : id;
  return `${owner}.jsonl.${reason}.${new Date(archivedAt).toISOString().replaceAll(":", "-")}`;
}

type Compaction = NonNullable<TranscriptRecord["compactions"]>[number];

/** The transcript that is being written. */
interface Current {
  readonly id: string;
  readonly place: Place;
  /** Of its entries, as far as they are known. */
  readonly ids: Set<string>;
  readonly written: Set<string>;
  last: string | null;
  /** Those that come after a later message. */
  pending: readonly Compaction[];
}

/** @returns the number of messages */
async function transcriptsOut(
  records: AsyncIterable<TranscriptRecord>,
  places: ReadonlyMap<string, Place>,
  options: ConversationsOut,
) {
  const { put, tell, workspaces } = options;
  let current: Current | undefined;
  let count = 0;
  const finish = async () => {
    if (current && current.pending.length > 0) await put(current.place.file, lines(compactionsUpTo(Infinity, current)));
  };
  for await (const { id, messages, compactions = [] } of records) {
    const place = places.get(id);
    if (!place) {
      tell({ kind: "transcript", id, action: "drop", reason: "no session or archive shows it" });
      continue;
    }
    if (current?.id !== id) {
      await finish();
      current = { id, place, ids: new Set(), written: new Set(), last: null, pending: [] };
      const timestamp = isoOf(messages[0]?.at ?? 0);
      const cwd = workspaces.get(place.agentId) ?? "";
      const header = { type: "session", version: 3, id, timestamp, cwd, [SESSION_KEY]: place.key };
      if (!place.file.endsWith(BRANCHES)) await put(place.file, lines([header]));
    }
    for (const message of messages) current.ids.add(message.id);
    current.pending = [...current.pending, ...compactions];
    const writing = current;
    await put(
      place.file,
      lines(messages.flatMap((one) => [...compactionsUpTo(one.at, writing), messageEntry(one, writing)])),
    );
    count += messages.length;
  }
  await finish();
  return count;
}

const lines = (entries: readonly object[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
const isoOf = (at: number) => new Date(at).toISOString();

function messageEntry({ id, at, message }: TranscriptMessage, current: Current) {
  const { provider, model } = message as { readonly provider?: unknown; readonly model?: unknown };
  const own = provider === "svc" && INJECTED.has(model) ? { ...message, provider: "openclaw" } : message;
  const entry = { type: "message", id, parentId: current.last, timestamp: isoOf(at), message: own };
  current.last = id;
  current.written.add(id);
  return entry;
}

/** The compactions that were made before a message of this time. */
function compactionsUpTo(at: number, current: Current): object[] {
  const due = current.pending.filter((one) => one.at < at && current.written.has(one.firstKeptId));
  current.pending = current.pending.filter((one) => !due.includes(one));
  return due.map(({ summary, firstKeptId, tokensBefore, at: madeAt }) => {
    const id = freshId(current.ids);
    const parentId = current.last;
    current.last = id;
    return {
      type: "compaction",
      id,
      parentId,
      timestamp: isoOf(madeAt),
      summary,
      firstKeptEntryId: firstKeptId,
      tokensBefore,
    };
  });
}

function freshId(ids: Set<string>): string {
  for (;;) {
    const id = randomBytes(4).toString("hex");
    if (ids.has(id)) continue;
    ids.add(id);
    return id;
  }
}

/** Puts the entries of other branches behind the first line of the transcript, whose last line stays the newest. */
async function mergeBranches(directory: string, file: string): Promise<void> {
  const [branches, path] = [join(directory, file), join(directory, file.slice(0, -BRANCHES.length))];
  const [entries, text] = await Promise.all(
    [branches, path].map((one) => readFile(one, "utf8").catch(() => undefined)),
  );
  if (entries === undefined) return; // its messages are damaged
  if (text === undefined) return rename(branches, `${path}.bak.${isoOf(Date.now()).replaceAll(":", "-")}`); // nothing shows them
  const end = text.indexOf("\n") + 1;
  await writeFile(branches, text.slice(0, end) + entries + text.slice(end));
  await rename(branches, path);
}

/** Conversations of one agent as records: the sessions, then what no session shows. Both generations use it. */
import { type ImportBatch, type ImportItem, inBatches } from "@svc/kit/import";
import type { ArchiveRecord, SessionRecord, TranscriptMessage, TranscriptRecord } from "@svc/sdk/import";
import type { ReadTranscript } from "./transcript.ts";

/** Conversations as one store has them. */
export interface ConversationStore {
  /** Of two with the same key, the first one counts. */
  readonly sessions: Iterable<SessionRecord>;
  /** `undefined`: there is none, or it cannot be read, which the store has told. */
  transcript(session: SessionRecord): Promise<ReadTranscript | undefined>;
  /** Transcripts of earlier sessions. Called when the sessions are given. */
  archived(given: Given): Iterable<ArchivedTranscript>;
}

export interface ArchivedTranscript {
  /** For people. */
  readonly name: string;
  readonly sessionId: string;
  /** Canonical key of the session that had it. */
  readonly key: string;
  readonly reason: ArchiveRecord["reason"];
  /** epoch ms; `undefined`: that of its last message */
  readonly at: number | undefined;
  read(): Promise<ReadTranscript | undefined>;
}

/** What was given, so that two stores of one agent, and copies of one transcript, give nothing twice. */
export interface Given {
  /** Keys of sessions. */
  readonly keys: Set<string>;
  /** Ids of messages, by the id of their session. */
  readonly messages: Map<string, Set<string>>;
  /** Ids of transcripts: of sessions and of archives. */
  readonly transcripts: Set<string>;
}

export function nothingGiven(): Given {
  return { keys: new Set(), messages: new Map(), transcripts: new Set() };
}

/** @param tell called for a transcript that adds nothing */
export async function* conversationRecords(
  store: ConversationStore,
  given: Given,
  tell: (item: ImportItem) => void,
): AsyncGenerator<ImportBatch> {
  for (const session of store.sessions) {
    const { id: key, sessionId } = session;
    if (given.keys.has(key)) continue;
    given.keys.add(key);
    if (given.transcripts.has(sessionId)) {
      yield { kind: "session", records: [session] }; // a run of a job shares the transcript of the job
      continue;
    }
    given.transcripts.add(sessionId);
    const read = await store.transcript(session);
    yield { kind: "session", records: [withChoices(session, read)] };
    if (!read) continue;
    note(sessionId, read, given);
    yield* inBatches("transcript", parts(sessionId, read.messages, read.compactions));
    yield* cutOff(sessionId, read, key, session.updatedAt);
  }
  for (const { name, sessionId, key: guessed, reason, at, read: open } of store.archived(given)) {
    const whole = await open();
    if (!whole) continue;
    const key = whole.key ?? guessed;
    // A copy from before a cut repeats what the session still shows.
    const read = without(whole, given.messages.get(sessionId));
    if (read.messages.length === 0 && read.former.length === 0) {
      const why = "its messages are in the conversation or it has none";
      tell({ kind: "archive", id: name, action: "skip", reason: why });
      continue;
    }
    const archivedAt = at ?? read.messages.at(-1)?.at ?? 0;
    const id = given.transcripts.has(sessionId) ? `${sessionId}.${reason}.${archivedAt}` : sessionId;
    given.transcripts.add(id);
    note(sessionId, read, given);
    const partOf = id === sessionId ? {} : { partOf: sessionId };
    yield* archive({ id, key, reason, archivedAt, ...partOf }, read.messages, read.compactions);
    yield* cutOff(id, read, key, archivedAt);
  }
}

/** The last choices in the transcript, where the entry has none. */
function withChoices(session: SessionRecord, read: ReadTranscript | undefined): SessionRecord {
  const { name, thinking } = read ?? {};
  const entry = {
    ...(name === undefined ? {} : { label: name }),
    ...(thinking === undefined || thinking === "off" ? {} : { thinkingLevel: thinking }),
    ...session.entry,
  };
  return { ...session, entry };
}

/** Messages of the transcript that no session shows: those before a reset, and other branches. */
async function* cutOff(
  id: string,
  { former, branches }: ReadTranscript,
  key: string,
  archivedAt: number,
): AsyncGenerator<ImportBatch> {
  for (const { at, messages, compactions } of former)
    yield* archive(
      { id: `${id}.reset.${at}`, key, reason: "reset", archivedAt: at, partOf: id },
      messages,
      compactions,
    );
  yield* archive({ id: `${id}.branches`, key, reason: "bak", archivedAt, partOf: id }, branches, []);
}

async function* archive(
  record: ArchiveRecord,
  messages: readonly TranscriptMessage[],
  compactions: ReadTranscript["compactions"],
): AsyncGenerator<ImportBatch> {
  if (messages.length === 0) return;
  yield { kind: "archive", records: [record] };
  yield* inBatches("transcript", parts(record.id, messages, compactions));
}

/** Choice: messages of one transcript record. */
const PART = 500;

/** The compactions come with the last part, when every message is known. */
function* parts(
  id: string,
  messages: readonly TranscriptMessage[],
  compactions: ReadTranscript["compactions"],
): Generator<TranscriptRecord> {
  for (let at = 0; at < messages.length; at += PART) {
    const after = messages[at - 1]?.id;
    yield {
      id,
      ...(after === undefined ? {} : { after }),
      messages: messages.slice(at, at + PART),
      ...(at + PART >= messages.length && compactions.length > 0 ? { compactions } : {}),
    };
  }
}

function note(sessionId: string, { messages, branches, former }: ReadTranscript, given: Given): void {
  const ids = given.messages.get(sessionId) ?? new Set();
  given.messages.set(sessionId, ids);
  for (const { id } of [...messages, ...branches, ...former.flatMap((one) => one.messages)]) ids.add(id);
}

function without(read: ReadTranscript, known: ReadonlySet<string> | undefined): ReadTranscript {
  if (!known) return read;
  const unknown = (messages: readonly TranscriptMessage[]) => messages.filter(({ id }) => !known.has(id));
  const former = read.former.map((one) => ({ ...one, messages: unknown(one.messages) }));
  return {
    ...read,
    messages: unknown(read.messages),
    branches: unknown(read.branches),
    former: former.filter(({ messages }) => messages.length > 0),
  };
}

/** Reads a state directory that keeps everything in JSON files. Facts: protocol/stores.md; the formats of version 2026.3. */
import type { ImportBatch, ImportItem } from "@svc/kit/import";
import { inBatches } from "@svc/kit/import";
import { isGatewayError } from "@svc/sdk";
import type { ImportRecord, SessionRecord } from "@svc/sdk/import";
import { type ArchivedTranscript, conversationRecords, type ConversationStore, nothingGiven } from "./conversations.ts";
import { deviceOf, jobOf, nodeOf, runOf } from "./records.ts";
import { keyOf, sessionOf } from "./entries.ts";
import type { StateFiles } from "./state-files.ts";
import { parseLines, type ReadTranscript, readTranscript } from "./transcript.ts";
import { isRecord, textsIn } from "./values.ts";

export interface MarchOptions {
  readonly files: StateFiles;
  /** Channels that deliver here. */
  readonly channels: ReadonlySet<string>;
  /** Called for what the reader decides. */
  tell(item: ImportItem): void;
}

/** All records, in the order in which they are taken. */
export async function* marchRecords(options: MarchOptions): AsyncGenerator<ImportBatch> {
  for (const agentId of await options.files.names("agents", "directory")) {
    const store = await marchConversations(agentId, options);
    yield* conversationRecords(store, nothingGiven(), options.tell);
  }
  for (const { kind, records } of STORES) yield* inBatches(kind, records(options));
}

/** Stores of the whole gateway, in the order in which they are taken. */
export const STORES: readonly {
  readonly kind: string;
  readonly file: string;
  records(options: MarchOptions): AsyncIterable<ImportRecord>;
}[] = [
  { kind: "cron-job", file: "cron/jobs.json", records: jobs },
  { kind: "cron-run", file: "cron/runs", records: runs },
  { kind: "device", file: "devices/paired.json", records: devices },
  { kind: "node", file: "nodes/paired.json", records: nodes },
  {
    kind: "command-policy",
    file: "exec-approvals.json",
    records: (options) => single("exec-approvals.json", policy, options),
  },
  {
    kind: "wake-words",
    file: "settings/voicewake.json",
    records: (options) => single("settings/voicewake.json", wakeWords, options),
  },
];

/** The list of the sessions of an agent. */
export const sessionsFile = (agentId: string) => `agents/${agentId}/sessions/sessions.json`;

export async function marchConversations(agentId: string, options: MarchOptions): Promise<ConversationStore> {
  const { files } = options;
  const directory = `agents/${agentId}/sessions`;
  const sessions = await sessionsOf(agentId, options);
  const names = await files.names(directory, "file");
  const owners = new Map(sessions.map((session) => [fileOf(session, names), session.sessionId]));
  const archived = (
    name: string,
    { sessionId, reason, at }: Pick<ArchivedTranscript, "sessionId" | "reason" | "at">,
  ): ArchivedTranscript => ({
    name,
    sessionId,
    key: `agent:${agentId}:${sessionId}`,
    reason,
    at,
    read: () => transcript(`${directory}/${name}`, sessionId, options),
  });
  const read = new Set<string>();
  return {
    sessions,
    transcript(session) {
      const name = fileOf(session, names);
      read.add(name);
      return transcript(`${directory}/${name}`, session.sessionId, options);
    },
    archived({ transcripts }) {
      const left = names.filter((name) => name.endsWith(".jsonl") && !read.has(name) && !transcripts.has(idIn(name)));
      const kept = left.map((name) =>
        archived(name, { sessionId: owners.get(name) ?? idIn(name), reason: "kept", at: undefined }),
      );
      const others = names.flatMap((name) => {
        const facts = archiveIn(name);
        return facts ? archived(name, facts) : [];
      });
      return [...kept, ...others];
    },
  };
}

/** The newest of the sessions whose keys are the same here; transcripts of the others are archived. */
async function sessionsOf(agentId: string, { files, tell }: MarchOptions) {
  const store = await stored(sessionsFile(agentId), { files, tell });
  const byKey = new Map<string, SessionRecord>();
  for (const [name, entry] of Object.entries(isRecord(store) ? store : {})) {
    const key = keyOf(name, agentId);
    const session = sessionOf(key, entry);
    if (typeof session === "string") {
      tell({ kind: "session", id: name, action: "refuse", reason: session });
      continue;
    }
    const other = byKey.get(key);
    if (!other || other.updatedAt <= session.updatedAt) byKey.set(key, session);
  }
  return [...byKey.values()];
}

/** A store as one JSON file, or its newest backup when it is damaged. */
async function stored(name: string, { files, tell }: Pick<MarchOptions, "files" | "tell">): Promise<unknown> {
  try {
    return await files.json(name);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const directory = name.slice(0, name.lastIndexOf("/"));
    const backups = (await files.names(directory, "file")).filter((file) =>
      `${directory}/${file}`.startsWith(`${name}.bak`),
    );
    for (const backup of backups.toReversed()) {
      const value = await files.json(`${directory}/${backup}`).catch(() => undefined);
      if (!isRecord(value)) continue;
      tell({
        kind: "file",
        id: name,
        action: "convert",
        reason: `it is damaged; its backup ${backup} was read`,
        added: 0,
      });
      return value;
    }
    tell({ kind: "file", id: name, action: "refuse", reason: error.message });
    return undefined;
  }
}

const idIn = (name: string) => name.slice(0, -".jsonl".length);

/** Name of the transcript of a session; a topic has a file of its own. */
function fileOf({ id, sessionId }: SessionRecord, names: readonly string[]): string {
  const topic = /:(?:topic|thread):([^:]+)$/.exec(id)?.[1];
  const ofTopic = `${sessionId}-topic-${topic ?? ""}.jsonl`;
  return topic !== undefined && names.includes(ofTopic) ? ofTopic : `${sessionId}.jsonl`;
}

async function transcript(
  name: string,
  id: string,
  { files, tell }: MarchOptions,
): Promise<ReadTranscript | undefined> {
  let text: string | undefined;
  try {
    text = await files.text(name);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    tell({ kind: "transcript", id, action: "refuse", reason: error.message });
    return undefined;
  }
  if (text === undefined) return undefined;
  const { entries, damaged } = parseLines(text);
  const read = readTranscript(entries, damaged > 0);
  const lines = damaged === 0 ? [] : [`${damaged} lines are damaged and left out`];
  for (const reason of [...lines, ...read.faults])
    tell({ kind: "file", id: name, action: "convert", reason, added: 0 });
  return read;
}

const ARCHIVE = /^(.+)\.jsonl\.(reset|deleted|bak)\.(\d{4}-\d\d-\d\dT\d\d)[-:_](\d\d)[-:_](\d\d\.\d+Z)$/;

/** The facts in the name of an archive. */
function archiveIn(name: string) {
  const [, sessionId, reason, hour, minute, second] = ARCHIVE.exec(name) ?? [];
  if (sessionId === undefined) return undefined;
  const at = Date.parse(`${hour}:${minute}:${second}`);
  return { sessionId, reason: reason as ArchivedTranscript["reason"], at }; // the expression allows no other word
}

async function* jobs(options: MarchOptions): AsyncGenerator<ImportRecord> {
  const store = await stored("cron/jobs.json", options);
  const list = isRecord(store) && Array.isArray(store["jobs"]) ? (store["jobs"] as readonly unknown[]) : [];
  yield* list.flatMap((job) => jobOf(job, options.channels, options.tell) ?? []);
}

async function* runs({ files, tell }: MarchOptions): AsyncGenerator<ImportRecord> {
  for (const name of await files.names("cron/runs", "file")) {
    if (!name.endsWith(".jsonl")) continue;
    const { entries, damaged } = parseLines((await files.text(`cron/runs/${name}`)) ?? "");
    if (damaged > 0)
      tell({
        kind: "file",
        id: `cron/runs/${name}`,
        action: "convert",
        reason: `${damaged} lines are damaged`,
        added: 0,
      });
    yield* entries.flatMap((entry) => runOf(entry) ?? []);
  }
}

async function* devices(options: MarchOptions): AsyncGenerator<ImportRecord> {
  const store = await stored("devices/paired.json", options);
  yield* Object.values(isRecord(store) ? store : {}).flatMap((device) => deviceOf(device) ?? []);
}

async function* nodes(options: MarchOptions): AsyncGenerator<ImportRecord> {
  const store = await stored("nodes/paired.json", options);
  yield* Object.values(isRecord(store) ? store : {}).flatMap((node) => nodeOf(node) ?? []);
}

async function* single(
  name: string,
  record: (value: Readonly<Record<string, unknown>>) => ImportRecord,
  options: MarchOptions,
): AsyncGenerator<ImportRecord> {
  const value = await stored(name, options);
  if (isRecord(value)) yield record(value);
}

export function policy(file: Readonly<Record<string, unknown>>) {
  return { id: "exec-approvals", file };
}

export function wakeWords({ triggers }: Readonly<Record<string, unknown>>) {
  return { id: "voicewake", triggers: textsIn(triggers) };
}

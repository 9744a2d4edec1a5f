/** The service `UsageRecords`: usage of transcripts, summed by the database. Spec: protocol/methods-usage.md §4-6. */
import { cut } from "@svc/sdk/cli";
import type { Storage } from "@svc/sdk/storage";
import type { ToolSum, UsagePeriod, UsageRecords, UsageSelection, UsageSum, UsedTranscript } from "@svc/sdk/usage";
import { canonicalKey, channelOfSession, chatTypeOf, type KeyRules, parseKey, text } from "../keys-routing/keys.ts";
import type { DamageLog } from "../store/damage.ts";
import { type SessionTableRow, type StoredSession, toSession } from "../store/entries.ts";
import { excerptText } from "../transcripts/text.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";
import * as statements from "./statements.ts";

/** Transcripts summed in one read, so that other reads can run in between. */
const BATCH = 50;

/** Text fields of an entry that rows copy. */
const TEXTS = ["label", "modelOverride", "providerOverride", "modelProvider", "model"] as const;

export interface UsageRecordsOptions {
  /** Called at each use: the service is available only after the start. */
  readonly storage: () => Storage;
  readonly damage: DamageLog;
  readonly transcripts: Pick<Transcripts, "logs">;
  /** Read at each use: the default agent may change at run time. */
  readonly rules: () => KeyRules;
}

/** A session, or a retired transcript, which has no entry and a key made from its id. */
interface Subject {
  readonly key: string;
  readonly sessionId: string;
  /** epoch ms */
  readonly updatedAt: number;
  readonly entry?: StoredSession["entry"];
  /** JSON of the last system prompt report, if requested and present. */
  readonly report?: string | null;
}

type Logged = Awaited<ReturnType<UsageRecords["logs"]>>["logs"][number];
type SubjectRow = SessionTableRow & { readonly report: string | null };

interface RetiredRow {
  readonly session_id: string;
  readonly key: string;
  readonly archived_at: number;
}

export function createUsageRecords({ storage, damage, transcripts, rules }: UsageRecordsOptions): UsageRecords {
  function stored(row: SubjectRow): Subject {
    const { key, entry } = toSession(row, damage);
    return { key, sessionId: entry.sessionId, updatedAt: entry.updatedAt, entry, report: row.report };
  }

  /** Newest first, of one agent or all. A transcript that two sessions show is counted once. */
  async function newest(from: number, { limit, includeContextWeight, agentId }: UsageSelection): Promise<Subject[]> {
    const isOfAgent = agentId !== undefined;
    const isDefault = agentId === rules().defaultAgentId; // sessions of no agent count to the default one
    const agents = isOfAgent ? [agentId, isDefault ? "" : agentId] : [];
    const keys = isOfAgent ? [...keyRange(agentId), isDefault ? 1 : 0] : [];
    const sql = statements.NEWEST_SUBJECTS(includeContextWeight, isOfAgent);
    const [listed, runs, retired] = await Promise.all([
      storage().all<SubjectRow>(sql, [1, ...agents, from, limit]),
      storage().all<SubjectRow>(sql, [0, ...agents, from, limit]),
      storage().all<RetiredRow>(statements.RETIRED_SUBJECTS(isOfAgent), [from, ...keys, limit]),
    ]);
    const seen = new Set<string>();
    return [...[...listed, ...runs].map(stored), ...retired.map(retiredSubject)]
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
      .filter(({ sessionId }) => !seen.has(sessionId) && seen.add(sessionId))
      .slice(0, limit);
  }

  /** The session with this key, else the retired transcript that a report listed under it. */
  async function find(given: string, withReport = false): Promise<Subject | undefined> {
    const key = canonicalKey(given, rules());
    const row = await storage().get<SubjectRow>(statements.SUBJECT(withReport), [key]);
    if (row) return stored(row);
    const { agentId, rest = "" } = parseKey(key) ?? {};
    const retired = await storage().get<RetiredRow>(statements.RETIRED_SUBJECT, [rest]);
    return retired && parseKey(retired.key)?.agentId === agentId ? retiredSubject(retired) : undefined;
  }

  /** The transcripts and the parts that were cut off them, each with the transcript it counts to. */
  async function withParts(sessionIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const parts = await storage().all<{ session_id: string; part_of: string }>(statements.PARTS, [
      JSON.stringify(sessionIds),
    ]);
    return new Map([
      ...sessionIds.map((id) => [id, id] as const),
      ...parts.map(({ session_id, part_of }) => [session_id, part_of] as const),
    ]);
  }

  function sums(sessionIds: readonly string[], period: UsagePeriod): Promise<UsageSum[]> {
    const { sql, params } = statements.usageSums(period);
    return storage().all<UsageSum>(sql, [...params, JSON.stringify(sessionIds), period.from, period.to]);
  }

  return {
    async transcripts(period, selection) {
      const { key, includeContextWeight } = selection;
      const subjects =
        key === undefined
          ? await newest(period.from, selection)
          : [await find(key, includeContextWeight)].filter((found) => found !== undefined);
      const used = new Map<string, { readonly sums: UsageSum[]; readonly tools: ToolSum[] }>();
      for (const { sessionId } of subjects) used.set(sessionId, { sums: [], tools: [] });
      for (let at = 0; at < subjects.length; at += BATCH) {
        const owners = await withParts(subjects.slice(at, at + BATCH).map(({ sessionId }) => sessionId));
        const ids = [...owners.keys()];
        const [someSums, someTools] = await Promise.all([
          sums(ids, period),
          storage().all<ToolSum>(statements.TOOL_SUMS, [JSON.stringify(ids), period.from, period.to]),
        ]);
        const ownerOf = ({ sessionId }: { sessionId: string }) => used.get(owners.get(sessionId) ?? "");
        for (const sum of someSums) ownerOf(sum)?.sums.push(sum);
        for (const sum of someTools) ownerOf(sum)?.tools.push(sum);
      }
      return subjects.map((subject): UsedTranscript => {
        const { sessionId, report = null } = subject;
        const contextWeight: unknown = report === null ? null : JSON.parse(report);
        return {
          row: { ...rowOf(subject), ...(includeContextWeight && { contextWeight }) },
          sessionId,
          location: `${storage().location}#${sessionId}`,
          ...(used.get(sessionId) ?? { sums: [], tools: [] }),
        };
      });
    },

    async ofAgent(agentId, period) {
      const isDefault = agentId === rules().defaultAgentId; // sessions of no agent count to the default one
      const agents = JSON.stringify(isDefault ? [agentId, ""] : [agentId]);
      const special = JSON.stringify(isDefault ? ["global", "unknown"] : []);
      const params = [agents, period.from, ...keyRange(agentId), special, period.from];
      const ids = (await storage().all<{ id: string }>(statements.AGENT_TRANSCRIPTS, params)).map(({ id }) => id);
      const all: UsageSum[] = [];
      for (let at = 0; at < ids.length; at += BATCH) all.push(...(await sums(ids.slice(at, at + BATCH), period)));
      return all;
    },

    async timeseries(key, maxPoints) {
      const subject = await find(key);
      if (!subject) return undefined;
      const { sessionId } = subject;
      const ids = [...(await withParts([sessionId])).keys()];
      return { sessionId, points: await storage().all(statements.TIMESERIES, [maxPoints, JSON.stringify(ids)]) };
    },

    async logs(key, limit, maxChars) {
      const subject = await find(key);
      if (!subject) return { logs: [] };
      // One extra character and the "…" show that the text was cut.
      const messages = await transcripts.logs(subject.sessionId, limit, maxChars + 2);
      const logs = messages.map((message): Logged => {
        const { at: timestamp, role, tokens, cost } = message;
        return {
          timestamp,
          role: role === "user" || role === "assistant" || role === "toolResult" ? role : "tool",
          content: cut(excerptText(message) ?? "", maxChars + 1),
          ...(tokens !== undefined && { tokens }),
          ...(cost !== undefined && { cost }),
        };
      });
      return { logs };
    },
  };
}

/** The keys of an agent: from the first text up to, but without, the second. */
const keyRange = (agentId: string) => [`agent:${agentId}:`, `agent:${agentId};`]; // ";" follows ":"

/** Spec: methods-usage.md §4 (key of a session that is no longer in the store). */
function retiredSubject({ session_id: sessionId, key, archived_at: updatedAt }: RetiredRow): Subject {
  return { key: `agent:${parseKey(key)?.agentId ?? "main"}:${sessionId}`, sessionId, updatedAt };
}

function rowOf({ key, sessionId, updatedAt, entry }: Subject): UsedTranscript["row"] {
  const agentId = parseKey(key)?.agentId;
  const channel = channelOfSession(key, entry);
  const chatType = text(entry?.["chatType"]) ?? chatTypeOf(key);
  const origin = entry?.["origin"];
  const texts = TEXTS.flatMap((field) => {
    const value = text(entry?.[field]);
    return value === undefined ? [] : [[field, value]];
  });
  return {
    ...(Object.fromEntries(texts) as Pick<UsedTranscript["row"], (typeof TEXTS)[number]>), // texts by exactly these names
    ...(agentId !== undefined && { agentId }),
    ...(channel !== undefined && { channel }),
    ...(chatType !== undefined && { chatType }),
    ...(typeof origin === "object" && origin !== null && { origin }),
    key,
    sessionId,
    updatedAt,
  };
}

/** Reads what usage reports are made of: sums the database makes of `message_facts`. */
import type { UsageRange } from "@svc/kit/time";
import type { Zone } from "@svc/sdk";
import type { Storage } from "@svc/sdk/storage";
import type { DamageLog } from "./damage.ts";
import { type SessionTableRow, type StoredSession, toSession } from "./entries.ts";
import { parseKey } from "./keys.ts";
import { LISTED_COLUMNS } from "./statements.ts";

/** Messages of one transcript, day, role and model, added up. */
export interface UsageSum {
  readonly sessionId: string;
  readonly day: string;
  readonly role: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly messages: number;
  /** Messages whose provider said what they used. */
  readonly answers: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  readonly totalCost: number;
  readonly inputCost: number;
  readonly outputCost: number;
  readonly cacheReadCost: number;
  readonly cacheWriteCost: number;
  /** Of those, the ones without a price. */
  readonly unpriced: number;
  /** Answers of a model whose provider did not say what they used. */
  readonly uncounted: number;
  readonly toolCalls: number;
  readonly errors: number;
  /** epoch ms */
  readonly firstAt: number;
  readonly lastAt: number;
  /** JSON array of milliseconds. */
  readonly latencies: string;
}

export interface ToolSum {
  readonly sessionId: string;
  readonly name: string;
  readonly count: number;
  /** Answers that called it. */
  readonly messages: number;
  /** Of those, the ones whose provider said what they used. */
  readonly answers: number;
  readonly totalTokens: number;
  /** US dollars; null: no price is known. */
  readonly cost: number | null;
  readonly unpriced: number;
}

/** A transcript a report has a row for. A retired one has no entry, and a key made of its id. */
export interface UsageSubject {
  readonly key: string;
  readonly sessionId: string;
  /** epoch ms */
  readonly updatedAt: number;
  readonly entry: StoredSession["entry"] | undefined;
  /** JSON of the last system prompt report, when it was asked for and there is one. */
  readonly report: string | null;
}

export interface UsagePoint {
  readonly timestamp: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  readonly cost: number;
  readonly cumulativeTokens: number;
  readonly cumulativeCost: number;
}

type SubjectRow = SessionTableRow & { readonly report: string | null };

/** Longer answers are breaks of the person, or of the gateway. Choice: as long as a waking day half over. */
const MAX_LATENCY_MS = 12 * 3_600_000;

const SUBJECT = (report: boolean) =>
  `${LISTED_COLUMNS}, ${report ? "case when json_valid(entry) then entry -> '$.systemPromptReport' end" : "null"} as report`;

/** Sessions used since a time, newest first; 1 for those that lists show, 0 for runs of jobs. */
export const NEWEST_SUBJECTS = (report: boolean) => `select ${SUBJECT(report)} from sessions
  where listed = ? and updated_at >= ? order by updated_at desc, key desc limit ?`;

export const RETIRED_SUBJECTS = `select session_id, key, archived_at from archives
  where archived_at >= ? and part_of is null order by archived_at desc limit ?`;

/** Its provider said what it used. Zero tokens say nothing: that is how a server tells that it does not count. */
const COUNTED = "(f.has_usage = 1 and f.total_tokens > 0)";
/** A model wrote it, and not the gateway in its place. */
const BY_MODEL = "coalesce(f.provider, '') not in ('', 'svc')";

/** Sums of the transcripts in a JSON array. */
export function usageSums(zone: Zone): { readonly sql: string; readonly params: readonly number[] } {
  const day = zone === "local" ? "date(f.at / 1000, 'unixepoch', 'localtime')" : "date((f.at + ?) / 1000, 'unixepoch')";
  return {
    sql: `select f.session_id as sessionId, ${day} as day, f.role, f.provider, f.model, count(*) as messages,
        sum(${COUNTED}) as answers, sum(f.role = 'assistant' and not ${COUNTED} and ${BY_MODEL}) as uncounted, sum(f.input) as input, sum(f.output) as output,
        sum(f.cache_read) as cacheRead, sum(f.cache_write) as cacheWrite, sum(f.total_tokens) as totalTokens,
        coalesce(sum(f.cost), 0) as totalCost, sum(f.cost_input) as inputCost, sum(f.cost_output) as outputCost,
        sum(f.cost_cache_read) as cacheReadCost, sum(f.cost_cache_write) as cacheWriteCost,
        sum(${COUNTED} and f.cost is null) as unpriced,
        sum(coalesce(json_array_length(f.tools), 0)) as toolCalls, sum(f.is_error) as errors,
        min(f.at) as firstAt, max(f.at) as lastAt,
        json_group_array(f.latency_ms) filter (where f.latency_ms between 0 and ${MAX_LATENCY_MS}) as latencies
      from json_each(?) j cross join message_facts f on f.session_id = j.value
      where f.at between ? and ? group by 1, 2, 3, 4, 5`,
    params: zone === "local" ? [] : [zone.offsetMs],
  };
}

export const TOOL_SUMS = `select session_id as sessionId, name, sum(calls) as count, count(*) as messages,
    sum(counted) as answers, sum(total_tokens) as totalTokens, sum(cost) as cost,
    sum(counted and cost is null) as unpriced
  from (select f.session_id, t.value as name, count(*) as calls, ${COUNTED} as counted, f.total_tokens, f.cost
    from json_each(?) j cross join message_facts f on f.session_id = j.value cross join json_each(f.tools) t
    where f.tools is not null and f.at between ? and ? group by f.session_id, f.seq, t.value)
  group by 1, 2`;

/** Transcripts of an agent that were used since a time, as reports find them: of sessions, and retired ones with their parts. */
const AGENT_TRANSCRIPTS = `select session_id as id from sessions
    where agent_id in (select value from json_each(?)) and updated_at >= ?
  union select session_id from archives
    where (key >= ? and key < ? or key in (select value from json_each(?))) and archived_at >= ?`;

/** At most the given number of points; several answers share one where there are more. */
export const TIMESERIES = `select max(at) as timestamp, sum(input) as input, sum(output) as output,
    sum(cache_read) as cacheRead, sum(cache_write) as cacheWrite, sum(total_tokens) as totalTokens,
    coalesce(sum(cost), 0) as cost, sum(sum(total_tokens)) over (order by point) as cumulativeTokens,
    sum(coalesce(sum(cost), 0)) over (order by point) as cumulativeCost
  from (select f.*, ntile(?) over (order by f.at, f.seq) as point
    from json_each(?) j cross join message_facts f on f.session_id = j.value where f.has_usage = 1)
  group by point order by point`;

export class UsageStore {
  readonly #storage: () => Storage;
  readonly #damage: DamageLog;

  constructor({ storage, damage }: { readonly storage: () => Storage; readonly damage: DamageLog }) {
    this.#storage = storage;
    this.#damage = damage;
  }

  /** Sessions and retired transcripts used since `from`, newest first. A transcript two sessions show is counted once. */
  async newest(from: number, limit: number, withReport: boolean): Promise<UsageSubject[]> {
    const sql = NEWEST_SUBJECTS(withReport);
    const [listed, runs, retired] = await Promise.all([
      this.#storage().all<SubjectRow>(sql, [1, from, limit]),
      this.#storage().all<SubjectRow>(sql, [0, from, limit]),
      this.#storage().all<{ session_id: string; key: string; archived_at: number }>(RETIRED_SUBJECTS, [from, limit]),
    ]);
    const all = [...[...listed, ...runs].map((row) => this.#subject(row)), ...retired.map(retiredSubject)];
    const seen = new Set<string>();
    return all
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
      .filter(({ sessionId }) => !seen.has(sessionId) && seen.add(sessionId))
      .slice(0, limit);
  }

  /** The session with this key, else the retired transcript a report called so. */
  async find(key: string, withReport = false): Promise<UsageSubject | undefined> {
    const row = await this.#storage().get<SubjectRow>(`select ${SUBJECT(withReport)} from sessions where key = ?`, [
      key,
    ]);
    if (row) return this.#subject(row);
    const { agentId, rest = "" } = parseKey(key) ?? {};
    const sql = "select session_id, key, archived_at from archives where session_id = ? and part_of is null";
    const retired = await this.#storage().get<{ session_id: string; key: string; archived_at: number }>(sql, [rest]);
    return retired && parseKey(retired.key)?.agentId === agentId ? retiredSubject(retired) : undefined;
  }

  /** For each transcript, itself and the parts that were cut off it. */
  async withParts(sessionIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const sql = "select a.session_id, a.part_of from json_each(?) j cross join archives a on a.part_of = j.value";
    const parts = await this.#storage().all<{ session_id: string; part_of: string }>(sql, [JSON.stringify(sessionIds)]);
    return new Map([
      ...sessionIds.map((id) => [id, id] as const),
      ...parts.map(({ session_id, part_of }) => [session_id, part_of] as const),
    ]);
  }

  /** @param isDefault sessions of no agent are its, too */
  async transcriptsOf(agentId: string, isDefault: boolean, from: number): Promise<string[]> {
    const agents = JSON.stringify(isDefault ? [agentId, ""] : [agentId]);
    const special = JSON.stringify(isDefault ? ["global", "unknown"] : []);
    const [first, behind] = [`agent:${agentId}:`, `agent:${agentId};`]; // ";" follows ":"
    const rows = await this.#storage().all<{ id: string }>(AGENT_TRANSCRIPTS, [
      agents,
      from,
      first,
      behind,
      special,
      from,
    ]);
    return rows.map(({ id }) => id);
  }

  sums(sessionIds: readonly string[], { from, to, zone }: UsageRange): Promise<UsageSum[]> {
    const { sql, params } = usageSums(zone);
    return this.#storage().all<UsageSum>(sql, [...params, JSON.stringify(sessionIds), from, to]);
  }

  toolSums(sessionIds: readonly string[], { from, to }: UsageRange): Promise<ToolSum[]> {
    return this.#storage().all<ToolSum>(TOOL_SUMS, [JSON.stringify(sessionIds), from, to]);
  }

  points(sessionIds: readonly string[], most: number): Promise<UsagePoint[]> {
    return this.#storage().all<UsagePoint>(TIMESERIES, [most, JSON.stringify(sessionIds)]);
  }

  #subject(row: SubjectRow): UsageSubject {
    const { key, entry } = toSession(row, this.#damage);
    return { key, sessionId: entry.sessionId, updatedAt: entry.updatedAt, entry, report: row.report };
  }
}

/** Spec: methods-usage.md §4 (key of a session that is no longer in the store). */
function retiredSubject(row: { session_id: string; key: string; archived_at: number }): UsageSubject {
  const agentId = parseKey(row.key)?.agentId ?? "main";
  return {
    key: `agent:${agentId}:${row.session_id}`,
    sessionId: row.session_id,
    updatedAt: row.archived_at,
    entry: undefined,
    report: null,
  };
}

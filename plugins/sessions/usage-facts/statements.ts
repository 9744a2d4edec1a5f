/** SQL that reads usage from `message_facts`, as values. Pure. */
import { offsetsIn } from "@svc/kit/time";
import { type Dialect, type Sql, sqlFor } from "@svc/sdk/storage";
import type { UsagePeriod } from "@svc/sdk/usage";
import { listedColumns } from "../store/statements.ts";

/** Choice: a longer latency is a pause of the user or the gateway, and is not counted. */
const MAX_LATENCY_MS = 12 * 3_600_000;

function columns(sql: Dialect, report: boolean): string {
  const part = `case when ${sql.isJson("entry")} then ${sql.jsonPart("entry", "systemPromptReport")} end`;
  return `${listedColumns(sql)}, ${report ? part : "null"} as report`;
}

/**
 * Sessions used since a time, newest first. Parameters: `listed`, 1 for those that lists show, 0 for runs of jobs; two agent ids, if
 * `ofAgent`; the time; how many.
 */
export const NEWEST_SUBJECTS = (report: boolean, ofAgent = false): Sql =>
  sqlFor(
    (sql) => `select ${columns(sql, report)} from sessions
  where listed = ?${ofAgent ? " and agent_id in (?, ?)" : ""} and updated_at >= ? order by updated_at desc, key desc limit ?`,
  );

/** The session with a key. */
export const SUBJECT = (report: boolean): Sql =>
  sqlFor((sql) => `select ${columns(sql, report)} from sessions where key = ?`);

export const RETIRED_SUBJECT =
  "select session_id, key, archived_at from archives where session_id = ? and part_of is null";

/**
 * Parameters: the time; if `ofAgent`, the first key of the agent, the first one behind its keys, and 1 if those of no agent are its
 * own; how many.
 */
export const RETIRED_SUBJECTS = (ofAgent = false): string => `select session_id, key, archived_at from archives
  where archived_at >= ?${ofAgent ? " and (key >= ? and key < ? or ? = 1 and key in ('global', 'unknown'))" : ""} and part_of is null order by archived_at desc limit ?`;

/** The provider reported usage. Zero tokens are no report: servers that do not count send zeros. */
const COUNTED = "(f.has_usage = 1 and f.total_tokens > 0)";
const counted = (condition = COUNTED) => `count(*) filter (where ${condition})`;
/** Written by a model, not by the gateway itself. */
const BY_MODEL = "coalesce(f.provider, '') not in ('', 'svc')";

/** Sums over the transcripts in a JSON array. Parameters: `params`, ids, from, to. */
export function usageSums({ from, to, zone }: UsagePeriod): { readonly sql: Sql; readonly params: number[] } {
  const offsets = typeof zone === "string" ? offsetsIn(from, to, zone) : [{ ...zone, until: Infinity }];
  const until = offsets.slice(0, -1);
  const number = "cast(? as bigint)";
  const offset =
    until.length === 0
      ? number
      : `case ${until.map(() => `when f.at < ? then ${number}`).join(" ")} else ${number} end`;
  return {
    sql: sqlFor(
      ({ day, jsonArray, jsonEach, jsonLength, thenJoin }) => `select f.session_id as "sessionId",
        ${day(`f.at + ${offset}`)} as day, f.role, f.provider, f.model, count(*) as messages, ${counted()} as answers,
        ${counted(`f.role = 'assistant' and not ${COUNTED} and ${BY_MODEL}`)} as uncounted,
        sum(f.input) as input, sum(f.output) as output,
        sum(f.cache_read) as "cacheRead", sum(f.cache_write) as "cacheWrite", sum(f.total_tokens) as "totalTokens",
        coalesce(sum(f.cost), 0) as "totalCost", sum(f.cost_input) as "inputCost", sum(f.cost_output) as "outputCost",
        sum(f.cost_cache_read) as "cacheReadCost", sum(f.cost_cache_write) as "cacheWriteCost",
        ${counted(`${COUNTED} and f.cost is null`)} as unpriced,
        sum(coalesce(${jsonLength("f.tools")}, 0)) as "toolCalls", sum(f.is_error) as errors,
        min(f.at) as "firstAt", max(f.at) as "lastAt",
        ${jsonArray("f.latency_ms", `f.latency_ms between 0 and ${MAX_LATENCY_MS}`)} as latencies
      from ${jsonEach("?", "j")} ${thenJoin} message_facts f on f.session_id = j.value
      where f.at between ? and ? group by 1, 2, 3, 4, 5`,
    ),
    params: offsets.flatMap((one) => (one.until === Infinity ? [one.offsetMs] : [one.until, one.offsetMs])),
  };
}

export const TOOL_SUMS = sqlFor(
  ({ jsonEach, thenJoin }) => `select session_id as "sessionId", name, sum(calls) as count, count(*) as messages,
    ${counted("counted")} as answers, sum(total_tokens) as "totalTokens", sum(cost) as cost,
    ${counted("counted and cost is null")} as unpriced
  from (select f.session_id, t.value as name, count(*) as calls, ${COUNTED} as counted, f.total_tokens, f.cost
    from ${jsonEach("?", "j")} ${thenJoin} message_facts f on f.session_id = j.value cross join ${jsonEach("f.tools", "t")}
    where f.tools is not null and f.at between ? and ? group by f.session_id, f.seq, t.value) as used
  group by 1, 2`,
);

/** Transcripts of an agent used since a time: those of sessions, and retired ones with their parts. */
export const AGENT_TRANSCRIPTS = sqlFor(
  ({ jsonEach }) => `select session_id as id from sessions
    where agent_id in (select value from ${jsonEach("?", "agents")}) and updated_at >= ?
  union select session_id from archives
    where (key >= ? and key < ? or key in (select value from ${jsonEach("?", "keys")})) and archived_at >= ?`,
);

/** At most the given number of points; more answers than that share points. */
export const TIMESERIES = sqlFor(
  ({ jsonEach, thenJoin }) => `select max(at) as timestamp, sum(input) as input, sum(output) as output,
    sum(cache_read) as "cacheRead", sum(cache_write) as "cacheWrite", sum(total_tokens) as "totalTokens",
    coalesce(sum(cost), 0) as cost, sum(sum(total_tokens)) over (order by point) as "cumulativeTokens",
    sum(coalesce(sum(cost), 0)) over (order by point) as "cumulativeCost"
  from (select f.*, ntile(cast(? as integer)) over (order by f.at, f.seq) as point
    from ${jsonEach("?", "j")} ${thenJoin} message_facts f on f.session_id = j.value where f.has_usage = 1) as points
  group by point order by point`,
);

/** Parts that were cut off the transcripts in a JSON array. */
export const PARTS = sqlFor(
  ({ jsonEach, thenJoin }) =>
    `select a.session_id, a.part_of from ${jsonEach("?", "j")} ${thenJoin} archives a on a.part_of = j.value`,
);

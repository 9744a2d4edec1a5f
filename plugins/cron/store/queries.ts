/** `cron.list` and `cron.runs`: pages of stored jobs and runs. Spec: protocol/methods-cron.md §6, §8. */
import { invalidRequest, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { cron } from "@svc/sdk/cron";
import type { SqlValue, Storage } from "@svc/sdk/storage";
import { type FireRow, type JobRow, shownFire, shownJob, toJob } from "./records.ts";

const MOST = 200;
const DEFAULT_WITHOUT_MATCHES = 50;
const DEFAULT_RUNS = 50;

type ListParams = ParamsOf<typeof cron.list>;
type RunsParams = ParamsOf<typeof cron.runs>;

/** Conditions of a query, with their values. */
interface Filter {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export async function listJobs(storage: Storage, params: ListParams): Promise<ResultOf<typeof cron.list>> {
  const { sql, params: values } = jobFilter(params);
  const total = await countOf(storage, `SELECT count(*) AS n FROM cron_jobs j ${sql}`, values);
  const page = pageOf(total, params.limit ?? (Math.min(total, MOST) || DEFAULT_WITHOUT_MATCHES), params.offset);
  const rows = await storage.all<JobRow>(
    `SELECT j.*, (SELECT min(f.started_at) FROM cron_fires f WHERE f.job_id = j.id AND f.status = 'running') AS running_at
     FROM cron_jobs j ${sql} ORDER BY ${orderOf(params)} LIMIT ? OFFSET ?`,
    [...values, page.limit, page.offset],
  );
  return { jobs: rows.map((row) => shownJob(toJob(row))), ...page };
}

function jobFilter({
  id,
  includeDisabled = false,
  enabled = includeDisabled ? "all" : "enabled",
  query = "",
}: ListParams): Filter {
  if (id !== undefined) return filterOf(["j.id = ?"], [id]);
  const conditions = enabled === "all" ? [] : [`j.enabled = ${enabled === "enabled" ? 1 : 0}`];
  const wanted = query.trim().toLowerCase();
  return filterOf(
    wanted === "" ? conditions : [...conditions, LIKE("j.search")],
    wanted === "" ? [] : [likeText(wanted)],
  );
}

/** Jobs that are not due come last in both directions. */
function orderOf({ sortBy = "nextRunAtMs", sortDir = "asc" }: ListParams): string {
  const direction = sortDir === "asc" ? "ASC" : "DESC";
  if (sortBy === "name") return `lower(j.name) ${direction}, j.id ASC`;
  if (sortBy === "updatedAtMs") return `j.updated_at ${direction}, j.id ASC`;
  return `CASE WHEN j.wake_at IS NULL THEN 1 ELSE 0 END ASC, j.wake_at ${direction}, j.id ASC`;
}

/** @throws GatewayError `INVALID_REQUEST` for a scope without its job */
export async function listRuns(storage: Storage, params: RunsParams): Promise<ResultOf<typeof cron.runs>> {
  const jobId = params.id ?? params.jobId;
  const scope = params.scope ?? (jobId === undefined ? "all" : "job");
  if (jobId !== undefined && /[/\\]/.test(jobId)) invalidRequest(`invalid cron.runs params: id "${jobId}" has a slash`);
  if (scope === "job" && jobId === undefined) invalidRequest("invalid cron.runs params: scope job needs id or jobId");
  const { sql, params: values } = runFilter(params, scope === "job" ? jobId : undefined);
  const total = await countOf(storage, `SELECT count(*) AS n FROM cron_fires f ${sql}`, values);
  const page = pageOf(total, params.limit ?? DEFAULT_RUNS, params.offset);
  const direction = params.sortDir === "asc" ? "ASC" : "DESC";
  const rows = await storage.all<FireRow & { readonly name: string | null }>(
    `SELECT f.*, ${scope === "all" ? "j.name" : "NULL"} AS name
     FROM cron_fires f LEFT JOIN cron_jobs j ON j.id = f.job_id ${sql}
     ORDER BY f.settled_at ${direction}, f.due_at ${direction}, f.job_id LIMIT ? OFFSET ?`,
    [...values, page.limit, page.offset],
  );
  return { entries: rows.map(shownFire), ...page };
}

function runFilter(params: RunsParams, jobId: string | undefined): Filter {
  const { status = "all", deliveryStatus, query = "" } = params;
  const statuses = params.statuses ?? (status === "all" ? [] : [status]);
  const deliveries = params.deliveryStatuses ?? (deliveryStatus === undefined ? [] : [deliveryStatus]);
  const wanted = query.trim().toLowerCase();
  const parts: [string, readonly SqlValue[]][] = [
    ["f.settled_at IS NOT NULL", []],
    ...(jobId === undefined ? [] : [["f.job_id = ?", [jobId]] satisfies [string, SqlValue[]]]),
    ...(statuses.length === 0 ? [] : [oneOf("f.outcome", statuses)]),
    ...(deliveries.length === 0 ? [] : [oneOf("f.delivery", deliveries)]),
    ...(wanted === "" ? [] : [[LIKE("f.search"), [likeText(wanted)]] satisfies [string, SqlValue[]]]),
  ];
  return filterOf(
    parts.map(([sql]) => sql),
    parts.flatMap(([, values]) => values),
  );
}

function oneOf(column: string, values: readonly string[]): [string, readonly SqlValue[]] {
  return [`${column} IN (${values.map(() => "?").join(", ")})`, values];
}

function filterOf(conditions: readonly string[], params: readonly SqlValue[]): Filter {
  return { sql: conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`, params };
}

const LIKE = (column: string) => `${column} LIKE ? ESCAPE '!'`;

function likeText(text: string): string {
  return `%${text.replace(/[!%_]/g, "!$&")}%`;
}

async function countOf(storage: Storage, sql: string, params: readonly SqlValue[]): Promise<number> {
  return Number((await storage.get<{ n: number | bigint }>(sql, params))?.n ?? 0);
}

function pageOf(total: number, limit: number, wanted = 0) {
  const offset = Math.min(wanted, total);
  const end = offset + limit;
  const hasMore = end < total;
  return { total, offset, limit, hasMore, nextOffset: hasMore ? end : null };
}

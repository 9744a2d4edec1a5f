/** `cron.list` and `cron.runs`: pages of stored jobs and runs. Spec: protocol/methods-cron.md §6, §8. */
import { createHash } from "node:crypto";
import { normalizeId } from "@svc/kit/agent-address";
import { invalidRequest, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { cron, CronJob } from "@svc/sdk/cron";
import { type Dialect, sqlFor, type SqlValue, type Storage } from "@svc/sdk/storage";
import { compactJob, deliveryPreview, type FireRow, type JobRow, shownFire, shownJob, toJob } from "./records.ts";

const MOST = 200;
const DEFAULT_WITHOUT_MATCHES = 50;
const DEFAULT_RUNS = 50;

type ListParams = ParamsOf<typeof cron.list>;
type RunsParams = ParamsOf<typeof cron.runs>;

/** A condition of a query, with its values. */
type Condition = readonly [write: (dialect: Dialect) => string, values: readonly SqlValue[]];

/** Conditions of a query, with their values. */
interface Filter {
  readonly sql: (dialect: Dialect) => string;
  readonly params: readonly SqlValue[];
}

export interface ListContext {
  readonly storage: Storage;
  /** Agent of jobs that name none. */
  readonly defaultAgentId: string;
}

/** A change between the revision and the page is noticed: the next page has another revision. */
export async function listJobs(context: ListContext, params: ListParams): Promise<ResultOf<typeof cron.list>> {
  const { storage } = context;
  const snapshotRevision = await revisionOf(storage);
  const { sql, params: values } = jobFilter(params, context);
  const total = await countOf(storage, (dialect) => `SELECT count(*) AS n FROM cron_jobs j ${sql(dialect)}`, values);
  const page = pageOf(total, params.limit ?? (Math.min(total, MOST) || DEFAULT_WITHOUT_MATCHES), params.offset);
  const rows = await storage.all<JobRow>(
    sqlFor(
      (dialect) =>
        `SELECT j.*, (SELECT min(f.started_at) FROM cron_fires f WHERE f.job_id = j.id AND f.status = 'running') AS running_at
         FROM cron_jobs j ${sql(dialect)} ORDER BY ${orderOf(params)} LIMIT ? OFFSET ?`,
    ),
    [...values, page.limit, page.offset],
  );
  const jobs = rows.map((row) => shownJob(toJob(row)));
  const previews = params.includeDeliveryPreviews
    ? { deliveryPreviews: Object.fromEntries(jobs.map((job) => [job.id, deliveryPreview(job)])) }
    : {};
  const shown = params.compact ? (jobs.map(compactJob) as object[] as CronJob[]) : jobs; // see `ListedJob` of the contract
  return { jobs: shown, ...page, snapshotRevision, ...previews };
}

/** Of all jobs: a filter may also change which jobs it matches. */
async function revisionOf(storage: Storage): Promise<string> {
  const rows = await storage.all<{ id: string; revision: number | bigint }>(
    "SELECT id, revision FROM cron_jobs ORDER BY id",
  );
  const hash = createHash("sha256");
  for (const { id, revision } of rows) hash.update(`${id}:${revision}\n`);
  return hash.digest("base64url").slice(0, 22);
}

function jobFilter(params: ListParams, { defaultAgentId }: ListContext): Filter {
  const { id, includeDisabled = false, query = "", agentId } = params;
  if (id !== undefined) return filterOf([[() => "j.id = ?", [id]]]);
  const { enabled = includeDisabled ? "all" : "enabled", scheduleKind, lastRunStatus, trigger } = params;
  const wanted = query.trim().toLowerCase();
  return filterOf([
    ...(enabled === "all" ? [] : [plain(`j.enabled = ${enabled === "enabled" ? 1 : 0}`)]),
    ...(wanted === ""
      ? []
      : [plain(`(${LIKE("j.search")} OR ${LIKE("lower(j.id)")})`, likeText(wanted), likeText(wanted))]),
    ...(agentId === undefined ? [] : [ofAgent("j.job", agentId, defaultAgentId)]),
    ...(isAll(scheduleKind) ? [] : [jsonIs("j.job", ["schedule", "kind"], scheduleKind)]),
    ...(isAll(lastRunStatus) ? [] : [lastRun(lastRunStatus)]),
    ...(trigger === "conditional" ? [plain("1 = 0")] : []), // no job has a condition
  ]);
}

function isAll(value: string | undefined): value is "all" | undefined {
  return value === undefined || value === "all";
}

function plain(sql: string, ...values: readonly SqlValue[]): Condition {
  return [() => sql, values];
}

function jsonIs(column: string, path: readonly string[], value: string): Condition {
  return [(dialect) => `${dialect.jsonText(column, ...path)} = ?`, [value]];
}

function ofAgent(column: string, agentId: string, defaultAgentId: string): Condition {
  const wanted = normalizeId(agentId);
  return [(dialect) => `coalesce(${dialect.jsonText(column, "agentId")}, ?) = ?`, [defaultAgentId, wanted]];
}

function lastRun(status: string): Condition {
  if (status !== "unknown") return jsonIs("j.facts", ["lastRunStatus"], status);
  return [(dialect) => `${dialect.jsonText("j.facts", "lastRunStatus")} IS NULL`, []];
}

/** Jobs that are not due come last in both directions. */
function orderOf({ sortBy = "nextRunAtMs", sortDir = "asc" }: ListParams): string {
  const direction = sortDir === "asc" ? "ASC" : "DESC";
  if (sortBy === "name") return `lower(j.name) ${direction}, j.id ASC`;
  if (sortBy === "updatedAtMs") return `j.updated_at ${direction}, j.id ASC`;
  return `CASE WHEN j.wake_at IS NULL THEN 1 ELSE 0 END ASC, j.wake_at ${direction}, j.id ASC`;
}

/** @throws GatewayError `INVALID_REQUEST` for a scope without its job */
export async function listRuns(context: ListContext, params: RunsParams): Promise<ResultOf<typeof cron.runs>> {
  const { storage } = context;
  const jobId = params.id ?? params.jobId;
  const scope = params.scope ?? (jobId === undefined ? "all" : "job");
  if (jobId !== undefined && /[/\\]/.test(jobId)) invalidRequest(`invalid cron.runs params: id "${jobId}" has a slash`);
  if (scope === "job" && jobId === undefined) invalidRequest("invalid cron.runs params: scope job needs id or jobId");
  const { sql, params: values } = runFilter(params, scope === "job" ? jobId : undefined, context);
  const from = (dialect: Dialect) => `FROM cron_fires f LEFT JOIN cron_jobs j ON j.id = f.job_id ${sql(dialect)}`;
  const total = await countOf(storage, (dialect) => `SELECT count(*) AS n ${from(dialect)}`, values);
  const page = pageOf(total, params.limit ?? DEFAULT_RUNS, params.offset);
  const direction = params.sortDir === "asc" ? "ASC" : "DESC";
  const rows = await storage.all<FireRow & { readonly name: string | null }>(
    sqlFor(
      (dialect) =>
        `SELECT f.*, ${scope === "all" ? "j.name" : "NULL"} AS name ${from(dialect)}
         ORDER BY f.settled_at ${direction}, f.due_at ${direction}, f.job_id LIMIT ? OFFSET ?`,
    ),
    [...values, page.limit, page.offset],
  );
  return { entries: rows.map(shownFire), ...page };
}

function runFilter(params: RunsParams, jobId: string | undefined, { defaultAgentId }: ListContext): Filter {
  const { status = "all", deliveryStatus, query = "", agentId } = params;
  const statuses = params.statuses ?? (status === "all" ? [] : [status]);
  const deliveries = params.deliveryStatuses ?? (deliveryStatus === undefined ? [] : [deliveryStatus]);
  const wanted = query.trim().toLowerCase();
  return filterOf([
    plain("f.settled_at IS NOT NULL"),
    ...(jobId === undefined ? [] : [plain("f.job_id = ?", jobId)]),
    ...(agentId === undefined ? [] : [plain("j.id IS NOT NULL"), ofAgent("j.job", agentId, defaultAgentId)]),
    ...(statuses.length === 0 ? [] : [oneOf("f.outcome", statuses)]),
    ...(deliveries.length === 0 ? [] : [oneOf("f.delivery", deliveries)]),
    ...(wanted === "" ? [] : [plain(LIKE("f.search"), likeText(wanted))]),
  ]);
}

function oneOf(column: string, values: readonly string[]): Condition {
  return plain(`${column} IN (${values.map(() => "?").join(", ")})`, ...values);
}

function filterOf(conditions: readonly Condition[]): Filter {
  return {
    sql: (dialect) =>
      conditions.length === 0 ? "" : `WHERE ${conditions.map(([write]) => write(dialect)).join(" AND ")}`,
    params: conditions.flatMap(([, values]) => values),
  };
}

const LIKE = (column: string) => `${column} LIKE ? ESCAPE '!'`;

function likeText(text: string): string {
  return `%${text.replace(/[!%_]/g, "!$&")}%`;
}

async function countOf(
  storage: Storage,
  write: (dialect: Dialect) => string,
  params: readonly SqlValue[],
): Promise<number> {
  return Number((await storage.get<{ n: number | bigint }>(sqlFor(write), params))?.n ?? 0);
}

function pageOf(total: number, limit: number, wanted = 0) {
  const offset = Math.min(wanted, total);
  const end = offset + limit;
  const hasMore = end < total;
  return { total, offset, limit, hasMore, nextOffset: hasMore ? end : null };
}

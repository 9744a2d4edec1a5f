/** Jobs, runs, devices and the other stores of the whole gateway in its database. Facts: design/import.md §2. */
import type { ImportItem } from "@svc/kit/import";
import type { ImportRecord } from "@svc/sdk/import";
import type { Database, Row } from "./database.ts";
import { type MarchOptions, policy, wakeWords } from "./march.ts";
import { deviceOf, jobOf, runOf } from "./records.ts";
import { parsed } from "./transcript.ts";
import { isRecord, numberIn, textIn, textsIn } from "./values.ts";

/** Records of one kind. None: the database has no such kind. */
export function databaseRecords(kind: string, state: Database, options: MarchOptions): Records {
  return READERS[kind]?.(state, options) ?? [];
}

type Records = Iterable<ImportRecord> | AsyncIterable<ImportRecord>;

const READERS: Readonly<Record<string, (state: Database, options: MarchOptions) => Records>> = {
  "cron-job": jobs,
  "cron-run": runs,
  device: devices,
  "command-policy": policies,
  "wake-words": allWakeWords,
};

function* policies(state: Database, { tell }: MarchOptions): Generator<ImportRecord> {
  const [row] = state.rows("exec_approvals_config", ["raw_json", "config_key"], {
    tail: "WHERE config_key = 'current'",
  });
  const file = parsed(String(row?.["raw_json"]));
  if (!isRecord(file)) return;
  const record = policy(file);
  yield record;
  const defaults = isRecord(file["defaults"]) ? file["defaults"] : {};
  if (textIn(defaults["security"]) !== undefined) return;
  tell({
    kind: "command-policy",
    id: record.id,
    action: "convert",
    reason: "it has no default, so agents could run all commands, and here they can run none",
    next: "svc approvals security allowlist --ask on-miss",
    added: 0,
  });
}

async function* allWakeWords(state: Database, { files }: MarchOptions): AsyncGenerator<ImportRecord> {
  const rows = state.has("voicewake_triggers")
    ? [...state.rows("voicewake_triggers", ["trigger", "position"], { tail: "ORDER BY position" })]
    : [];
  if (rows.length > 0) return yield wakeWords({ triggers: rows.map((row) => row["trigger"]) });
  const moved = await files.json("settings/voicewake.json.migrated");
  if (isRecord(moved)) yield wakeWords(moved);
}

function* jobs(state: Database, { channels, tell }: MarchOptions): Generator<ImportRecord> {
  for (const row of jobRows(state)) {
    const job = parsed(String(row["job_json"]));
    const own = ownJob(row, job);
    if (own) tell(own);
    const taken = own ? undefined : jobOf(isRecord(job) ? withColumns(job, row) : job, channels, tell);
    if (taken) yield taken;
  }
}

function jobRows(state: Database): Iterable<Row> {
  const columns = ["job_id", "job_json", "state_json", "enabled", "payload_kind", "sort_order", "updated_at"];
  return state.rows("cron_jobs", columns, { optional: ["declaration_key"], tail: "ORDER BY sort_order, job_id" });
}

function withColumns(job: Row, { enabled, state_json: state, updated_at: updatedAt }: Row): Row {
  return {
    ...job,
    enabled: job["enabled"] !== false && enabled !== 0,
    updatedAtMs: numberIn(job["updatedAtMs"]) ?? numberIn(updatedAt),
    state: parsed(String(state)),
  };
}

/** Jobs that the source made for itself. */
function ownJob(
  { job_id: id, payload_kind: kind, declaration_key: declared }: Row,
  job: unknown,
): ImportItem | undefined {
  const { name, agentId, schedule } = isRecord(job) ? job : {};
  const item = { kind: "cron-job", id: String(id), added: 0 };
  if (kind === "heartbeat") {
    const every = isRecord(schedule) ? numberIn(schedule["everyMs"]) : undefined;
    const often = every === undefined ? "" : `, every ${Math.round(every / 60_000)} min`;
    const where = "agents.defaults.heartbeat, agents.list[].heartbeat";
    const reason = `the heartbeat of agent ${String(agentId)}${often}, is a setting here: ${where}`;
    return { ...item, action: "convert", reason };
  }
  if (!/^(?:memory-core|skill-collection-review):/.test(String(declared))) return undefined;
  return { ...item, action: "drop", reason: `"${String(name)}" is a job of OpenClaw for itself` };
}

/** Runs with their outcome, and then those of which only start and end are known. */
function* runs(state: Database): Generator<ImportRecord> {
  const own = new Set<unknown>();
  for (const row of jobRows(state)) if (ownJob(row, undefined)) own.add(row["job_id"]);
  const taskColumns = ["runtime", "source_id", "status", "ended_at", "child_session_key", "detail_json"];
  for (const row of state.rows("task_runs", taskColumns, { tail: "WHERE runtime = 'cron'" })) {
    const detail = parsed(String(row["detail_json"]));
    if (own.has(row["source_id"]) || !isRecord(detail)) continue;
    const status = textIn(detail["status"]) ?? (row["status"] === "succeeded" ? "ok" : "error");
    const facts = { jobId: row["source_id"], ts: row["ended_at"], sessionKey: row["child_session_key"] };
    const run = runIn({ ...detail, ...facts, status });
    if (run) yield run;
  }
  const columns = ["job_id", "status", "started_at_ms", "finished_at_ms", "error_text"];
  for (const row of state.rows("cron_run_receipts", columns)) {
    if (own.has(row["job_id"])) continue;
    const [start, end] = [numberIn(row["started_at_ms"]), numberIn(row["finished_at_ms"])];
    const durationMs = start === undefined || end === undefined ? undefined : end - start;
    const facts = { jobId: row["job_id"], ts: end, error: row["error_text"], runAtMs: start, durationMs };
    const run = runIn({ ...facts, status: row["status"] });
    if (run) yield run;
  }
}

/** Fields of a run that have a meaning here. */
const RUN_FIELDS =
  "ts jobId status error summary delivered deliveryStatus deliveryError sessionId sessionKey runAtMs durationMs " +
  "nextRunAtMs model provider usage";

/** `undefined` for a run that has not ended. */
function runIn(facts: Row): ImportRecord | undefined {
  const known = RUN_FIELDS.split(" ").flatMap((name) => (facts[name] == null ? [] : [[name, facts[name]] as const]));
  const status = OUTCOMES.has(facts["status"]) ? facts["status"] : "error";
  return runOf({ ...Object.fromEntries(known), status, action: "finished" });
}

const OUTCOMES: ReadonlySet<unknown> = new Set(["ok", "error", "skipped"]);

function* devices(state: Database): Generator<ImportRecord> {
  const texts = ["device_id", "public_key", "display_name", "platform", "device_family", "client_id", "client_mode"];
  const others = ["role", "roles_json", "approved_scopes_json", "tokens_json", "created_at_ms", "approved_at_ms"];
  const query = { optional: ["node_surface_json"], tail: "ORDER BY created_at_ms, device_id" };
  for (const row of state.rows("device_pairing_paired", [...texts, ...others], query)) {
    const fields = fieldsIn(row);
    const { nodeSurface: surface } = fields;
    const device = deviceOf(fields);
    if (!device) continue;
    // A surface that names no commands allows none.
    const node = isRecord(surface) && { commands: textsIn(surface["commands"]), caps: textsIn(surface["caps"]) };
    yield { ...device, ...(node && { node }) };
  }
}

/** A row as the object that earlier versions stored: `tokens_json` is the value of `tokens`. */
function fieldsIn(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const isJson = column.endsWith("_json");
      const name = (isJson ? column.slice(0, -"_json".length) : column).replaceAll(/_(.)/g, (_, letter: string) =>
        letter.toUpperCase(),
      );
      return [name, isJson ? parsed(String(value)) : value];
    }),
  );
}

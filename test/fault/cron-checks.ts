/** Jobs for the tests of faults, and checks of their records and effects. */
import assert from "node:assert/strict";
import { connect } from "@svc/sdk/client";
import { cron, type CronJob } from "@svc/sdk/cron";
import { nextSlot } from "../../plugins/cron/schedule/calendar.ts";

/** A gateway as `cron-process.ts` reports it. */
export interface Ready {
  readonly url: string;
  readonly auth: { readonly token?: string };
}

/** Rows of a consistent snapshot. SQL for both engines. */
export type Rows = (sql: string, ...params: readonly string[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export const MINUTE = 60_000;
/** A clock set back by at most this many ms is not detected as having been ahead; detection takes at most as long. */
const AHEAD_MS = 3 * MINUTE;
export const FREQUENT = "each second";

/** Every second, minute and ten minutes, and by calendar in two time zones; sent to the main session, or run by the agent. */
export async function addJobs({ url, auth }: Ready, isFrequent = true): Promise<CronJob[]> {
  const client = await connect({ url, ...(auth.token ? { token: auth.token } : {}) });
  const every = (everyMs: number) => ({ schedule: { kind: "every", everyMs } });
  const by = (expr: string, tz: string) => ({ schedule: { kind: "cron", expr, tz } });
  const text = (name: string) => ({ name, text: name, sessionKey: `agent:main:${name}`, wakeMode: "next-heartbeat" });
  const asked = [
    ...["a", "b", "c", "d"].map((name) => ({ ...text(name), ...every(MINUTE) })),
    { ...text("all"), ...every(MINUTE), catchUp: "all" },
    { ...text("none"), ...every(MINUTE), catchUp: "none" },
    { ...text("berlin"), ...by("*/3 * * * *", "Europe/Berlin") },
    { ...text("lord-howe"), ...by("*/7 * * * *", "Australia/Lord_Howe") },
    { ...text("seconds"), ...by("*/20 * * * * *", "Europe/Berlin") },
    ...(isFrequent ? [{ ...text(FREQUENT), catchUp: "all", ...by("* * * * * *", "UTC") }] : []),
    { name: "agent", message: "say something", delivery: { mode: "none" }, ...every(10 * MINUTE) },
    { name: "queue", message: "say more", delivery: { mode: "none" }, overlap: "queue", ...every(5 * MINUTE) },
  ];
  const jobs: CronJob[] = [];
  for (const job of asked) jobs.push(await client.call(cron.add, job));
  await client.close();
  return jobs;
}

export interface Counts {
  readonly ran: number;
  readonly missed: number;
  readonly skipped: number;
}

type FireRow = Readonly<Record<"due_at" | "through_at" | "settled_at", number>> & { readonly status: string };

/** Every scheduled run from the first to the last one checked is covered by exactly one record. */
export async function checkJob(
  rows: Rows,
  { id, name, schedule, createdAtMs }: CronJob,
  now: number,
  context: string,
): Promise<Counts> {
  const found = await rows("SELECT * FROM cron_fires WHERE job_id = ? ORDER BY due_at", id);
  const fires = found as readonly FireRow[]; // the columns of the table
  const where = `${context}, job ${name}`;
  for (const [index, { due_at: dueAt }] of fires.entries()) {
    const before = fires[index - 1];
    assert.ok(!before || before.through_at < dueAt, `${where}: two records cover ${dueAt}`);
  }
  const nextAt = Number((await rows("SELECT next_at FROM cron_jobs WHERE id = ?", id))[0]?.["next_at"]);
  let index = 0;
  const covering = (slot: number) => {
    while ((fires[index]?.through_at ?? Infinity) < slot) index += 1;
    return (fires[index]?.due_at ?? Infinity) <= slot ? fires[index] : undefined;
  };
  const begin = schedule.kind === "every" ? (schedule.anchorMs ?? createdAtMs) : createdAtMs;
  let slot = nextSlot(schedule, id, begin);
  for (; slot !== undefined && slot < nextAt; slot = nextSlot(schedule, id, slot))
    assert.ok(covering(slot), `${where}: no record of ${new Date(slot).toISOString()}`);
  for (const { due_at: dueAt, through_at: throughAt, status } of fires) {
    assert.equal(nextSlot(schedule, id, dueAt - 1), dueAt, `${where}: ${dueAt} is not one of its scheduled times`);
    const isPremature = (status === "skipped" || status === "missed") && throughAt > now + AHEAD_MS;
    assert.ok(!isPremature, `${where}: ${status} at ${new Date(throughAt).toISOString()}, which is in the future`);
  }
  // After the clock was set back, the schedule makes it due again.
  let free = nextSlot(schedule, id, now);
  while (free !== undefined && covering(free)) free = nextSlot(schedule, id, free);
  assert.ok(free !== undefined && nextAt <= free + AHEAD_MS, `${where}: next due at ${new Date(nextAt).toISOString()}`);
  const count = (status: string) => fires.filter((fire) => fire.status === status).length;
  return { ran: count("ran"), missed: count("missed"), skipped: count("skipped") };
}

/** Each performed run notified its session, or asked its agent, exactly once; other runs had no effect. */
export async function checkEffects(rows: Rows, context: string): Promise<void> {
  const lines = async (sql: string) => (await rows(sql)).map((row) => Object.values(row).join(" "));
  const unnotified = `SELECT f.run_id FROM cron_fires f JOIN cron_jobs j ON j.id = f.job_id
    WHERE f.status = 'ran' AND f.outcome = 'ok' AND j.job LIKE '%systemEvent%' AND NOT EXISTS (SELECT 1 FROM heartbeat_events e WHERE e.id = f.run_id)`;
  assert.deepEqual(await lines(unnotified), [], `${context}: ran, and its session was not notified`);
  const tooMuch = `SELECT e.id FROM heartbeat_events e WHERE e.id LIKE 'cron:%'
    AND NOT EXISTS (SELECT 1 FROM cron_fires f WHERE f.run_id = e.id AND f.status = 'ran')`;
  assert.deepEqual(await lines(tooMuch), [], `${context}: notified, and not recorded as run`);
  const unasked = `SELECT f.run_id FROM cron_fires f JOIN cron_jobs j ON j.id = f.job_id
    WHERE f.status = 'ran' AND f.outcome = 'ok' AND j.job LIKE '%agentTurn%' AND NOT EXISTS (SELECT 1 FROM agent_runs r WHERE r.run_id = f.run_id)`;
  assert.deepEqual(await lines(unasked), [], `${context}: ran, and no agent run exists`);
  const unrecorded = `SELECT r.run_id FROM agent_runs r WHERE r.run_id LIKE 'cron:%' AND r.status NOT IN ('accepted', 'running')
    AND NOT EXISTS (SELECT 1 FROM cron_fires f WHERE f.run_id = r.run_id AND f.status IN ('ran', 'running'))`;
  assert.deepEqual(await lines(unrecorded), [], `${context}: an agent run exists, and is not recorded as run`);
}

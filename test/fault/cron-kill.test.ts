/**
 * Jobs under `kill -9`, SIGSTOP and a clock that is set forward and back: each scheduled run has exactly one record, and each
 * performed run took effect once. Spec: design/reliability.md, "clock jumps, DST both ways, a suspended process".
 *
 * SVC_FAULT_TICKS sets the number of scheduled runs to settle (default 300); SVC_FAULT_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { connect } from "@svc/sdk/client";
import { cron, type CronJob } from "@svc/sdk/cron";
import { loadCalendar, nextSlot } from "../../plugins/cron/schedule/calendar.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const TICKS = Number(process.env["SVC_FAULT_TICKS"] ?? 300);
const MINUTE = 60_000;
/** A clock set back by at most this many ms is not detected as having been ahead; detection takes at most as long. */
const AHEAD_MS = 3 * MINUTE;
/** A minute of job time is 150 ms here. */
const RATE = 400;
const FREQUENT = "each second";
const PROCESS = fileURLToPath(new URL("cron-process.js", import.meta.url));

/** The clock of the jobs, which continues while no gateway runs. */
class JobTime {
  readonly #real = Date.now();
  #job = Date.UTC(2026, 2, 28, 20); // the night in which clocks go forward in Europe
  at(real: number): number {
    return this.#job + (real - this.#real) * RATE;
  }
  jump(ms: number): void {
    this.#job += ms;
  }
}

interface Ready {
  readonly url: string;
  readonly auth: { readonly token?: string };
}

async function start(
  stateDir: string,
  time: JobTime,
): Promise<{ readonly child: ChildProcess; readonly ready: Ready }> {
  const real = Date.now();
  const child = fork(PROCESS, [stateDir, String(real), String(time.at(real)), String(RATE)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [ready] = (await once(child, "message")) as [Ready]; // its first message
  return { child, ready };
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

it(`${TICKS} scheduled runs have one record each despite all faults`, { timeout: 600_000 }, async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-cron-kill-"));
  const random = createRandom(SEED);
  const time = new JobTime();
  let { child, ready } = await start(stateDir, time);
  t.after(async () => {
    child.kill("SIGKILL");
    await gone(child);
    await rm(stateDir, { recursive: true, force: true });
  });
  const jobs = await addJobs(ready);
  const frequent = jobs.find(({ name }) => name === FREQUENT)?.id ?? assert.fail(); // its many runs do not count: they prove little
  const database = () => new DatabaseSync(join(stateDir, "plugins", "storage-sqlite", "svc.db"), { readOnly: true });
  let settled = 0;
  for (let round = 0; settled < TICKS; round += 1) {
    assert.ok(round < 400, `seed ${SEED}: only ${settled} scheduled runs in ${round} rounds`);
    await pause(100 + random() * 700);
    const fault = random();
    if (fault < 0.25) {
      child.kill("SIGSTOP");
      await pause(random() * 400);
      child.kill("SIGCONT");
    } else if (fault < 0.5) {
      const jumpMs = Math.round((random() - 0.4) * 30) * MINUTE;
      time.jump(jumpMs);
      child.send({ jumpMs });
    } else {
      child.kill("SIGKILL");
      await gone(child);
      await pause(random() * 200);
      ({ child, ready } = await start(stateDir, time));
    }
    const db = database();
    const sql = "SELECT count(*) AS n FROM cron_fires WHERE settled_at IS NOT NULL AND job_id <> ?";
    settled = Number(db.prepare(sql).get(frequent)?.["n"]);
    db.close();
  }
  await pause(1_500); // the state left by the last killed gateway is taken over
  await loadCalendar();
  const now = time.at(Date.now());
  const db = database();
  db.exec("BEGIN"); // a consistent snapshot for all checks
  const context = `seed ${SEED}`;
  const counts = jobs.map((job) => checkJob(db, job, now, context));
  checkEffects(db, context);
  const total = (name: "ran" | "missed" | "skipped") => counts.reduce((sum, count) => sum + count[name], 0);
  t.diagnostic(`${total("ran")} ran, ${total("missed")} missed, ${total("skipped")} skipped`);
  assert.ok(total("ran") > 0 && total("missed") > 0, `${context}: the faults had no effect`);
  db.close();
  child.send({ stop: true });
  await gone(child);
});

/** Every second, minute and ten minutes, and by calendar in two time zones; sent to the main session, or run by the agent. */
async function addJobs({ url, auth }: Ready): Promise<CronJob[]> {
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
    { ...text(FREQUENT), catchUp: "all", ...by("* * * * * *", "UTC") },
    { name: "agent", message: "say something", delivery: { mode: "none" }, ...every(10 * MINUTE) },
    { name: "queue", message: "say more", delivery: { mode: "none" }, overlap: "queue", ...every(5 * MINUTE) },
  ];
  const jobs: CronJob[] = [];
  for (const job of asked) jobs.push(await client.call(cron.add, job));
  await client.close();
  return jobs;
}

interface Counts {
  readonly ran: number;
  readonly missed: number;
  readonly skipped: number;
}

type FireRow = Readonly<Record<"due_at" | "through_at" | "settled_at", number>> & { readonly status: string };

/** Every scheduled run from the first to the last one checked is covered by exactly one record. */
function checkJob(
  db: DatabaseSyncInstance,
  { id, name, schedule, createdAtMs }: CronJob,
  now: number,
  context: string,
): Counts {
  const fires = db.prepare("SELECT * FROM cron_fires WHERE job_id = ? ORDER BY due_at").all(id) as unknown as FireRow[];
  const where = `${context}, job ${name}`;
  for (const [index, { due_at: dueAt }] of fires.entries()) {
    const before = fires[index - 1];
    assert.ok(!before || before.through_at < dueAt, `${where}: two records cover ${dueAt}`);
  }
  const nextAt = Number(db.prepare("SELECT next_at FROM cron_jobs WHERE id = ?").get(id)?.["next_at"]);
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
function checkEffects(db: DatabaseSyncInstance, context: string): void {
  const lines = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(" "));
  const unnotified = `SELECT f.run_id FROM cron_fires f JOIN cron_jobs j ON j.id = f.job_id
    WHERE f.status = 'ran' AND f.outcome = 'ok' AND j.job LIKE '%systemEvent%' AND NOT EXISTS (SELECT 1 FROM heartbeat_events e WHERE e.id = f.run_id)`;
  assert.deepEqual(lines(unnotified), [], `${context}: ran, and its session was not notified`);
  const tooMuch = `SELECT e.id FROM heartbeat_events e WHERE e.id LIKE 'cron:%'
    AND NOT EXISTS (SELECT 1 FROM cron_fires f WHERE f.run_id = e.id AND f.status = 'ran')`;
  assert.deepEqual(lines(tooMuch), [], `${context}: notified, and not recorded as run`);
  const unasked = `SELECT f.run_id FROM cron_fires f JOIN cron_jobs j ON j.id = f.job_id
    WHERE f.status = 'ran' AND f.outcome = 'ok' AND j.job LIKE '%agentTurn%' AND NOT EXISTS (SELECT 1 FROM agent_runs r WHERE r.run_id = f.run_id)`;
  assert.deepEqual(lines(unasked), [], `${context}: ran, and no agent run exists`);
  const unrecorded = `SELECT r.run_id FROM agent_runs r WHERE r.run_id LIKE 'cron:%' AND r.status NOT IN ('accepted', 'running')
    AND NOT EXISTS (SELECT 1 FROM cron_fires f WHERE f.run_id = r.run_id AND f.status IN ('ran', 'running'))`;
  assert.deepEqual(lines(unrecorded), [], `${context}: an agent run exists, and is not recorded as run`);
}

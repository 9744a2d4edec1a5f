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
import { DatabaseSync } from "@photostructure/sqlite";
import { loadCalendar } from "../../plugins/cron/schedule/calendar.ts";
import { addJobs, checkEffects, checkJob, FREQUENT, MINUTE, type Ready, type Rows } from "./cron-checks.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const TICKS = Number(process.env["SVC_FAULT_TICKS"] ?? 300);
/** A minute of job time is 150 ms here. */
const RATE = 400;
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
  const rows: Rows = async (sql, ...params) => db.prepare(sql).all(...params);
  const counts = await Promise.all(jobs.map((job) => checkJob(rows, job, now, context)));
  await checkEffects(rows, context);
  const total = (name: "ran" | "missed" | "skipped") => counts.reduce((sum, count) => sum + count[name], 0);
  t.diagnostic(`${total("ran")} ran, ${total("missed")} missed, ${total("skipped")} skipped`);
  assert.ok(total("ran") > 0 && total("missed") > 0, `${context}: the faults had no effect`);
  db.close();
  child.send({ stop: true });
  await gone(child);
});

/**
 * Jobs of three gateways on one database, at 60 times the clock, while one of them is killed every few seconds: each scheduled run has exactly one
 * record, and took effect once. Spec: design/scaleout.md, S-01.
 *
 * SVC_FAULT_SECONDS sets how long (default 40), SVC_FAULT_SEED repeats the faults.
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { loadCalendar } from "../../plugins/cron/schedule/calendar.ts";
import { directory } from "../directory.ts";
import { emptySchema, withoutPostgres } from "../postgres.ts";
import { until } from "../until.ts";
import { addJobs, checkEffects, checkJob, type Counts, type Ready, type Rows } from "./cron-checks.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const SECONDS = Number(process.env["SVC_FAULT_SECONDS"] ?? 40);
const RATE = 60;
const PROCESS = fileURLToPath(new URL("cron-process.js", import.meta.url));

it(
  `scheduled runs of three gateways have one record each in ${SECONDS} s of kills`,
  { timeout: 600_000, skip: withoutPostgres() },
  async (t) => {
    const url = await emptySchema();
    const random = createRandom(SEED);
    const begun = Date.now();
    const job = Date.UTC(2026, 2, 28, 20); // the night in which clocks go forward in Europe
    const at = (real: number) => job + (real - begun) * RATE;
    const directories = [directory(t), directory(t), directory(t)];
    const start = async (number: number) => {
      const real = Date.now();
      const child = fork(PROCESS, [directories[number] ?? "", String(real), String(at(real)), String(RATE)], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        env: { ...process.env, SVC_DATABASE_URL: url },
      });
      const [ready] = (await once(child, "message")) as [Ready]; // its first message
      return { child, ready };
    };
    const gone = async (child: ChildProcess) => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    };
    const running = await Promise.all([0, 1, 2].map(start));
    t.after(() => Promise.all(running.map(({ child }) => gone(child))));
    const [first] = running;
    assert.ok(first);
    const jobs = await addJobs(first.ready, false); // at this speed, the events of a frequent one would be folded
    let kills = 0;
    for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; kills += 1) {
      await pause(1_000 + random() * 3_000);
      const number = Math.floor(random() * running.length);
      const killed = running[number];
      assert.ok(killed);
      await gone(killed.child);
      await pause(random() * 2_000);
      running[number] = await start(number);
    }
    const client = new Client({ connectionString: url });
    await client.connect();
    t.after(() => client.end());
    await client.query(`SET search_path = ${new URL(url).searchParams.get("schema")}`);
    const rows: Rows = async (sql, ...params) => {
      let position = 0;
      const { rows: found } = await client.query(
        sql.replace(/\?/g, () => `$${(position += 1)}`),
        [...params],
      );
      return found.map((row: Record<string, unknown>) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            name.endsWith("_at") && value !== null ? Number(value) : value,
          ]),
        ),
      );
    };
    // Runs of the last killed gateway are taken over once its lease has ended.
    await until(async () => {
      const old = at(Date.now()) - 15_000 * RATE;
      const sql = "SELECT job_id FROM cron_fires WHERE status = 'running' AND started_at < CAST(? AS BIGINT)";
      return (await rows(sql, String(old))).length === 0;
    }, "runs of killed gateways to be taken over");
    await loadCalendar();
    const context = `seed ${SEED}, ${kills} kills`;
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ"); // a consistent snapshot for all checks
    const counts: Counts[] = [];
    for (const one of jobs) counts.push(await checkJob(rows, one, at(Date.now()), context));
    await checkEffects(rows, context);
    await client.query("COMMIT");
    const total = (name: "ran" | "missed" | "skipped") => counts.reduce((sum, count) => sum + count[name], 0);
    t.diagnostic(`${context}; ${total("ran")} ran, ${total("missed")} missed, ${total("skipped")} skipped`);
    assert.ok(kills > 3 && total("ran") > SECONDS, `${context}: nothing was at stake`);
  },
);

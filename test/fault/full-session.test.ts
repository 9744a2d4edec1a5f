/**
 * Far more webhooks than a main session shows, no heartbeat, and a `kill -9` in between: each is accepted, the runs of agents
 * and jobs complete, and the waiting events stay bounded but count every event.
 *
 * Each of SVC_FAULT_ROUNDS rounds (default 4) posts 400 different wakes and 400 equal ones.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { cron } from "@svc/sdk/cron";
import { webhooks } from "@svc/sdk/webhooks";
import { MAX_REPEATED, MAX_WAITING } from "../../plugins/heartbeat/event-store.ts";
import type { Folded } from "../../plugins/heartbeat/summary.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { until } from "../until.ts";
import { createRandom, ROUNDS, SEED } from "./workload.ts";

const TOKEN = "hook-token-of-the-full-session";
const DIFFERENT = 400 * ROUNDS;
const RUNS = 5;
/** Choice: the bound is checked every hundred events; as many may be in progress. */
const SLACK = 200;

interface EventRow {
  readonly id: string;
  readonly repeats: number;
  readonly folded: string | null;
}

it("a full main session refuses nothing and counts everything", { timeout: 300_000 }, async (t) => {
  const random = createRandom(SEED);
  const stateDir = await mkdtemp(join(tmpdir(), "svc-full-session-"));
  const config = {
    agents: { defaults: { skipBootstrap: true, model: "offline/offline", heartbeat: { every: "0" } } },
    hooks: { enabled: true, token: TOKEN },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  let running = await startGatewayProcess(stateDir);
  t.after(async () => {
    await running.kill();
    await rm(stateDir, { recursive: true, force: true });
  });
  const answers = { accepted: 0, cutOff: 0 };
  const post = async (path: string, body: object) => {
    const request = {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${running.url.replace(/^ws/, "http")}/hooks/${path}`, request).catch(() => undefined);
    if (answer === undefined) return void (answers.cutOff += 1);
    assert.equal(answer.status, 200, await answer.text());
    answers.accepted += 1;
  };
  const wake = (text: string) => post("wake", { text, mode: "next-heartbeat" });
  const killAt = Math.floor(random() * DIFFERENT);
  for (let index = 0; index < DIFFERENT; index += 20) {
    const batch = Promise.all(Array.from({ length: 20 }, (_, at) => wake(`different ${index + at}`)));
    if (index <= killAt && killAt < index + 20) {
      await running.kill();
      await batch;
      running = await startGatewayProcess(stateDir);
    } else await batch;
  }
  for (let index = 0; index < DIFFERENT; index += 20)
    await Promise.all(Array.from({ length: 20 }, () => wake("equal")));
  const client = await running.connect();
  t.after(() => client.close());
  for (let index = 0; index < RUNS; index += 1)
    await post("agent", { message: `echo done ${index}`, wakeMode: "next-heartbeat", deliver: false });
  const job = await client.call(cron.add, {
    text: "tick",
    schedule: { everyMs: 3_600_000 },
    wakeMode: "next-heartbeat",
  });
  await client.call(cron.run, { id: job.id });

  const open = async () =>
    (await client.call(webhooks.runs, { limit: 200 })).runs.filter(({ status }) => status !== "done").length;
  await until(async () => (await open()) === 0, `seed ${SEED}: all webhooks are done`);
  const { entries } = await client.call(cron.runs, { id: job.id });
  assert.deepEqual(
    entries.map(({ status }) => status),
    ["ok"],
  );
  const db = new DatabaseSync(join(stateDir, "plugins", "storage-sqlite", "svc.db"), { readOnly: true });
  t.after(() => db.close());
  const rows = db
    .prepare("SELECT id, repeats, folded FROM heartbeat_events WHERE status = 'waiting' ORDER BY seq")
    .all() as unknown as EventRow[];
  const remembered = db.prepare("SELECT count(*) AS n FROM heartbeat_events WHERE status = 'repeated'").get()?.["n"];
  assert.ok(rows.length <= MAX_WAITING + SLACK, `${rows.length} events wait`);
  assert.ok(Number(remembered) <= MAX_REPEATED + SLACK, `${String(remembered)} ids are remembered`);
  const counted = rows.reduce((sum, { repeats, folded }) => {
    const counts = folded === null ? [1 + repeats] : Object.values((JSON.parse(folded) as Folded).counts);
    return sum + counts.reduce((all, one) => all + one, 0);
  }, 0);
  const least = answers.accepted + 1; // one event of each webhook, one of the job
  assert.ok(least <= counted && counted <= least + answers.cutOff, `seed ${SEED}: ${counted} of ${least} events`);
  assert.ok(DIFFERENT <= MAX_WAITING + SLACK || rows.some(({ folded }) => folded !== null), "none is folded");
  t.diagnostic(
    `${answers.accepted} accepted, ${answers.cutOff} cut off; ${rows.length} rows stand for ${counted} events`,
  );
});

/** Jobs in a gateway: run when due, recorded once, with notifications; across failures and restarts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { outsideOrigin, saidAfter } from "@svc/sdk";
import { cron } from "@svc/sdk/cron";
import { createFakeClock } from "@svc/sdk/testing";
import { EventStore, MAX_WAITING } from "../../../plugins/heartbeat/event-store.ts";
import { event } from "../heartbeat/events.ts";
import { askedOf } from "../webhook-scene.ts";
import { agentWith, MAIN, NOON, openScene, outside, pigeonPost, report } from "./scene.ts";

const limited = { timeout: 120_000 };
const MINUTE = 60_000;

describe("a job for the main session", limited, () => {
  it("adds its event at the scheduled time, once, and is removed", async (t) => {
    const scene = await openScene(t);
    const gateway = await scene.start();
    const job = await gateway.add({
      text: "drink something",
      schedule: { at: "2026-01-01T12:05:00Z" },
      wakeMode: "next-heartbeat",
    });
    assert.equal(job.deleteAfterRun, true);
    assert.equal(job.state.nextRunAtMs, NOON + 5 * MINUTE);
    await gateway.pass(4 * MINUTE);
    assert.deepEqual(await gateway.told(), []);
    await gateway.pass(MINUTE);
    await gateway.settled(job.id, 1);
    assert.deepEqual(await gateway.told(), ["drink something"]);
    assert.deepEqual(await gateway.records(job.id), ["ran ok"]);
    assert.equal((await gateway.client.call(cron.status, {})).jobs, 0);
    await gateway.until(() => gateway.events.length === 4, "the events");
    assert.deepEqual(
      gateway.events.map(({ action }) => action),
      ["added", "started", "finished", "removed"],
    );
  });

  it("without a zone uses that of the user", async (t) => {
    const gateway = await (await openScene(t, { defaults: { userTimezone: "Asia/Tokyo" } })).start();
    const schedule = { kind: "cron", expr: "15 9 * * *" } as const;
    const job = await gateway.add({ text: "good morning", schedule });
    assert.equal(job.state.nextRunAtMs, Date.UTC(2026, 0, 2, 0, 15));
    assert.deepEqual(job.schedule, schedule);
    const { jobs } = await gateway.client.call(cron.list, {});
    assert.deepEqual(jobs[0]?.schedule, schedule);
    const { times, timeZone } = await gateway.client.call(cron.preview, { schedule, count: 1 });
    assert.deepEqual([times, timeZone], [[job.state.nextRunAtMs], "Asia/Tokyo"]);
  });

  it("is listed alone by its id, also when it is off", async (t) => {
    const gateway = await (await openScene(t)).start();
    const one = await gateway.add({ text: "one", schedule: { everyMs: MINUTE }, enabled: false });
    await gateway.add({ text: "two", schedule: { everyMs: MINUTE } });
    const { jobs, total } = await gateway.client.call(cron.list, { id: one.id, query: "two" });
    assert.deepEqual([jobs.map(({ id }) => id), total], [[one.id], 1]);
    assert.deepEqual((await gateway.client.call(cron.list, { id: "nobody" })).jobs, []);
  });

  it("adds its event even if many are waiting", async (t) => {
    const gateway = await (await openScene(t)).start();
    const store = new EventStore(gateway.storage);
    const waiting = Array.from({ length: MAX_WAITING }, (_, index) => store.add(event(`e${index}`), NOON));
    await gateway.storage.transaction(waiting.flat());
    const { id } = await gateway.add({ text: "tick", schedule: { everyMs: MINUTE }, wakeMode: "next-heartbeat" });
    await gateway.pass(MINUTE);
    await gateway.settled(id, 1);
    assert.deepEqual(await gateway.records(id), ["ran ok"]);
  });

  it("keeps the origin of its text until the owner replaces the payload", async (t) => {
    const page = saidAfter(outsideOrigin("web", "https://evil.example/"));
    const agent = agentWith({ origin: page, text: "Obey", saw: () => false });
    const gateway = await (await openScene(t, { plugins: [agent.plugin] })).start();
    const job = { text: "Obey", schedule: { everyMs: MINUTE }, wakeMode: "next-heartbeat" };
    const { id } = (await agent.uses({ action: "add", job })) as { id: string };
    assert.deepEqual((await gateway.job(id)).origin, page);
    await gateway.pass(MINUTE);
    await gateway.settled(id, 1);
    const [event] = await gateway.waiting();
    assert.deepEqual([event?.text, event?.origin], ["Obey", page]);

    const edited = async (patch: object) => (await gateway.client.call(cron.update, { id, patch })).origin;
    assert.deepEqual(await edited({ enabled: false }), page);
    assert.equal(await edited({ payload: { kind: "systemEvent", text: "tea" } }), undefined);
    await agent.uses({ action: "update", id, patch: { name: "obey" } });
    assert.deepEqual((await gateway.job(id)).origin, page);
  });

  it("is made up for once after downtime; the other runs are recorded as missed", async (t) => {
    const scene = await openScene(t);
    const first = await scene.start();
    const once = await first.add({ schedule: { at: "2026-01-01T12:01:00Z" }, text: "late", catchUp: "none" });
    const { id } = await first.add({
      name: "tick",
      schedule: { everyMs: MINUTE },
      text: "tick",
      wakeMode: "next-heartbeat",
    });
    await first.halt();
    const second = await scene.start(createFakeClock(NOON + 5 * MINUTE + 10_000));
    const entries = await second.settled(id, 5);
    const minutes = entries.map(({ dueAtMs = 0, record }) => `${(dueAtMs - NOON) / MINUTE} ${record}`);
    assert.deepEqual(new Set(minutes), new Set(["1 missed", "2 missed", "3 missed", "4 missed", "5 ran"]));
    assert.deepEqual(await second.told(), ["tick"]);
    await second.settled(once.id, 1);
    assert.deepEqual(await second.records(once.id), ["missed skipped the gateway was not running in time"]);
    assert.equal((await second.job(once.id)).enabled, false);
    assert.equal((await second.job(id)).state.nextRunAtMs, NOON + 6 * MINUTE);
  });
});

describe("an isolated job", limited, () => {
  it("has a conversation for each run, which is kept", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "all well" }, { text: "still well" }] });
    const gateway = await scene.start();
    const { id } = await gateway.add(report);
    await gateway.pass(10 * MINUTE);
    await gateway.settled(id, 1);
    await gateway.pass(10 * MINUTE);
    const entries = await gateway.settled(id, 2);
    for (const [index, summary] of ["all well", "still well"].entries()) {
      const { status, provider, model, ...entry } = entries[index] ?? assert.fail();
      assert.deepEqual([entry.summary, status, provider, model], [summary, "ok", "fake", "gpt-x"]);
    }
    assert.match(askedOf(scene.server.requests[0] ?? assert.fail()), /report/);
    const key = `agent:main:cron:${id}`;
    for (const [index, text] of ["all well", "still well"].entries()) {
      const { sessionId, sessionKey } = entries[index] ?? {};
      assert.equal(sessionKey, key);
      const items = await gateway.sessions.transcript(`${key}:run:${sessionId}`, 10);
      assert.equal(items.length, 2);
      assert.match(JSON.stringify(items[1]?.message.content), new RegExp(text));
    }
    const { state } = await gateway.job(id);
    assert.deepEqual(
      [state.lastRunStatus, state.lastDeliveryStatus, state.consecutiveErrors],
      ["ok", "not-requested", 0],
    );
  });

  it("that hangs delays no other, even ten of them: others run, lists work, and each can be aborted", async (t) => {
    const scene = await openScene(t, {
      replies: (request) => (/hang/.test(askedOf(request)) ? { text: "never", hangAfter: 0 } : { text: "done" }),
    });
    const gateway = await scene.start();
    const payload = { kind: "agentTurn", message: "hang" };
    const hanging = await Promise.all(
      Array.from({ length: 10 }, (_, index) => gateway.add({ ...report, name: `hang ${index}`, payload })),
    );
    const fine = await gateway.add({ ...report, name: "fine" });
    await gateway.pass(10 * MINUTE);
    const isRunning = async () =>
      (await gateway.client.call(cron.list, { query: "hang" })).jobs.map(({ state }) => state);
    await gateway.until(async () => (await isRunning()).every(({ runningAtMs }) => runningAtMs), "all of them to hang");
    await gateway.settled(fine.id, 1);
    await gateway.pass(10 * MINUTE);
    await gateway.settled(fine.id, 2);
    const [{ id } = assert.fail()] = hanging;
    assert.deepEqual(await gateway.records(id), ["skipped skipped it was still running"]);
    assert.deepEqual(await gateway.client.call(cron.run, { id }), { ok: true, ran: false, reason: "already-running" });
    for (const job of hanging)
      assert.deepEqual(await gateway.client.call(cron.cancel, { id: job.id }), { ok: true, cancelled: 1 });
    await gateway.settled(id, 2);
    assert.deepEqual((await gateway.records(id)).toSorted(), [
      "ran error the run was stopped (cron)",
      "skipped skipped it was still running",
    ]);
  });

  it("is aborted at its timeout", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "never", hangAfter: 0 }] });
    const gateway = await scene.start();
    const { id } = await gateway.add({ ...report, payload: { ...report.payload, timeoutSeconds: 30 } });
    await gateway.pass(10 * MINUTE);
    await gateway.until(() => scene.server.requests.length === 1, "the question");
    await gateway.pass(31_000);
    await gateway.settled(id, 1);
    assert.deepEqual(await gateway.records(id), ["ran error cron: job execution timed out"]);
    const { state } = await gateway.job(id);
    assert.deepEqual([state.consecutiveErrors, state.lastRunStatus], [1, "error"]);
  });

  it("interrupted by a restart continues after it, and is recorded once", async (t) => {
    const scene = await openScene(t, { replies: [{ pieces: ["half"], hangAfter: 1 }, { text: "next" }] });
    const first = await scene.start();
    const { id } = await first.add(report);
    await first.pass(10 * MINUTE);
    await first.until(() => scene.server.requests.length === 1, "the question");
    await first.halt();
    const second = await scene.start(createFakeClock(NOON + 11 * MINUTE));
    await second.pass(20_000);
    await second.settled(id, 1);
    assert.deepEqual(await second.records(id), ["ran ok"]);
    assert.equal(scene.server.requests.length, 2);
    await second.pass(10 * MINUTE);
    await second.settled(id, 2);
    assert.equal(scene.server.requests.length, 3);
  });

  it("continues while the plugin is reloaded, and is recorded once", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "slowly done", delayMs: 400 }] });
    const gateway = await scene.start();
    const { id } = await gateway.add(report);
    await gateway.pass(10 * MINUTE);
    await gateway.until(() => scene.server.requests.length === 1, "the question");
    assert.equal((await gateway.gateway.reload("cron")).ok, true);
    const [entry] = await gateway.settled(id, 1);
    assert.equal(entry?.summary, "slowly done");
    assert.equal(scene.server.requests.length, 1);
  });
});

describe("a job run by hand", limited, () => {
  it("runs though it is not due or disabled, and keeps its next scheduled run", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "one" }, { text: "two" }] });
    const gateway = await scene.start();
    const { id, state } = await gateway.add({ ...report, enabled: "true" });
    assert.deepEqual(await gateway.client.call(cron.run, { id, mode: "due" }), {
      ok: true,
      ran: false,
      reason: "not-due",
    });
    assert.deepEqual(await gateway.client.call(cron.run, { jobId: id }), { ok: true, ran: true });
    const [entry] = await gateway.runs(id);
    assert.deepEqual([entry?.summary, entry?.manual], ["one", true]);
    assert.equal((await gateway.job(id)).state.nextRunAtMs, state.nextRunAtMs);
    const disabled = await gateway.client.call(cron.update, { id, patch: { enabled: false } });
    assert.equal(disabled.state.nextRunAtMs, undefined);
    assert.deepEqual(await gateway.client.call(cron.run, { id }), { ok: true, ran: true });
    assert.equal((await gateway.runs(id)).length, 2);
    await gateway.pass(60 * MINUTE);
    assert.equal((await gateway.runs(id)).length, 2, "it is disabled");
    await assert.rejects(gateway.client.call(cron.run, { id: "nobody" }), {
      code: "NOT_FOUND",
      message: /^Error: unknown cron job id: nobody$/,
    });
    await assert.rejects(gateway.client.call(cron.remove, { id, jobId: id }), { code: "INVALID_REQUEST" });
  });
});

describe("failures", limited, () => {
  it("back off, and are notified", async (t) => {
    const post = pigeonPost();
    const scene = await openScene(t, { replies: () => ({ status: 400, message: "no" }), plugins: [post.plugin] });
    const gateway = await scene.start();
    const { id } = await gateway.add({
      ...report,
      schedule: { kind: "every", everyMs: MINUTE },
      delivery: {
        mode: "announce",
        channel: "pigeon",
        to: "boss",
        failureDestination: { channel: "pigeon", to: "ops" },
      },
      failureAlert: { after: 2, channel: "pigeon", to: "alarm" },
    });
    await gateway.pass(MINUTE);
    await gateway.settled(id, 1);
    assert.equal((await gateway.job(id)).state.consecutiveErrors, 1);
    await gateway.pass(MINUTE);
    await gateway.settled(id, 2);
    // 60 s after the second error in a row the backoff is over, at the third run.
    await gateway.pass(MINUTE);
    await gateway.settled(id, 3);
    await gateway.pass(5 * MINUTE);
    await gateway.settled(id, 8);
    const records = await gateway.records(id);
    assert.equal(records.filter((line) => line.startsWith("ran error")).length, 4);
    assert.equal(records.filter((line) => line === "skipped skipped backing off after errors").length, 4);
    const told = post.requests.map(({ to }) => String(to)).toSorted((a, b) => a.localeCompare(b));
    assert.deepEqual(told, ["alarm", "ops", "ops", "ops", "ops"]);
  });

  it("that are transient are retried by a job that runs once, then it is disabled", async (t) => {
    const scene = await openScene(t, {
      replies: () => ({ status: 500, message: "no" }),
      cron: { retry: { maxAttempts: 1, backoffMs: [90_000] } },
    });
    const gateway = await scene.start();
    const { id } = await gateway.add({
      name: "once",
      schedule: { at: "2026-01-01T12:01:00Z" },
      message: "go",
      delivery: { mode: "none" },
    });
    await gateway.pass(MINUTE);
    await gateway.settled(id, 1);
    assert.equal((await gateway.job(id)).enabled, true);
    await gateway.pass(3 * MINUTE);
    await gateway.settled(id, 2);
    assert.equal((await gateway.job(id)).enabled, false);
  });
});

describe("the result of a run", limited, () => {
  it("is sent once; if that fails, the run has failed and the main session gets it", async (t) => {
    const post = pigeonPost(
      { delivered: true, channel: "pigeon", to: "boss" },
      { delivered: false, reason: "no such pigeon" },
    );
    const scene = await openScene(t, {
      replies: [{ text: "first" }, { text: "second" }, { text: "NO_REPLY" }],
      plugins: [post.plugin],
    });
    const gateway = await scene.start();
    const { id } = await gateway.add({
      ...report,
      delivery: { mode: "announce", channel: "pigeon", to: "boss" },
      wakeMode: "next-heartbeat",
    });
    for (const count of [1, 2, 3]) {
      await gateway.pass(10 * MINUTE);
      await gateway.settled(id, count);
    }
    const entries = await gateway.runs(id);
    assert.deepEqual(
      entries.map(({ status, deliveryStatus }) => [status, deliveryStatus]),
      [
        ["ok", "delivered"],
        ["error", "not-delivered"],
        ["ok", "not-delivered"],
      ],
    );
    assert.deepEqual(
      post.requests.map(({ text }) => text),
      ["first", "second"],
    );
    assert.deepEqual(await gateway.told(), ['Cron job "report" (its report could not be delivered): second']);
  });

  for (const [sessionKey, spoken] of [
    ["agent:main:pigeon:group:42", "agent:main:pigeon:group:42"],
    [undefined, MAIN],
  ] as const) {
    it(`is sent to the last channel of its session: ${sessionKey ?? "main"}`, async (t) => {
      const post = pigeonPost({ delivered: false, reason: "no such pigeon" });
      const scene = await openScene(t, { replies: [{ text: "first" }], plugins: [post.plugin] });
      const gateway = await scene.start();
      const failureAlert = { after: 1 };
      const job = { ...report, delivery: { mode: "announce" }, failureAlert };
      const { id } = await gateway.add({ ...job, ...(sessionKey ? { sessionKey } : {}) });
      await gateway.client.call(cron.run, { id });
      assert.deepEqual(
        post.requests.map(({ channel, sessionKey: key }) => `${channel} ${key}`),
        [`last ${spoken}`],
      );
    });
  }

  it("is posted to a webhook with the token", async (t) => {
    const web = outside(200, 500);
    const scene = await openScene(t, {
      replies: [{ text: "first" }, { text: "second" }],
      plugins: [web.plugin],
      cron: { webhookToken: "hush" },
    });
    const gateway = await scene.start();
    const { id } = await gateway.add({ ...report, delivery: { mode: "webhook", to: "https://hooks.example/x" } });
    await gateway.client.call(cron.run, { id });
    await gateway.client.call(cron.run, { id });
    const [request] = web.requests;
    assert.equal(request?.headers?.["authorization"], "Bearer hush");
    const body = JSON.parse(String(request?.body)) as Record<string, unknown>;
    assert.deepEqual([body["jobId"], body["action"], body["status"], body["summary"]], [id, "finished", "ok", "first"]);
    assert.deepEqual(
      (await gateway.runs(id)).map(({ deliveryError }) => deliveryError),
      [undefined, "the webhook answered 500"],
    );
  });
});

describe("sessions of runs", limited, () => {
  it("are deleted after the retention time", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "one" }, { text: "two" }], cron: { sessionRetention: "1h" } });
    const gateway = await scene.start();
    const { id } = await gateway.add(report);
    await gateway.client.call(cron.run, { id });
    const key = `agent:main:cron:${id}:run:${(await gateway.runs(id))[0]?.sessionId}`;
    assert.ok(await gateway.sessions.get(key));
    await gateway.client.call(cron.update, { id, patch: { enabled: false } });
    await gateway.pass(61 * MINUTE);
    await gateway.client.call(cron.run, { id });
    await gateway.until(async () => (await gateway.sessions.get(key)) === undefined, "the old session to go");
    assert.ok(await gateway.sessions.get(MAIN.replace("main:main", `main:cron:${id}`)));
  });
});

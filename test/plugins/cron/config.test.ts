/** Effects of the section `cron`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cron } from "@svc/sdk/cron";
import { openScene, outside, pigeonPost, report } from "./scene.ts";

const limited = { timeout: 120_000 };
const MINUTE = 60_000;

describe("the section cron", limited, () => {
  for (const skip of [false, true])
    it(`${skip ? "SVC_SKIP_CRON" : "enabled: false"} runs jobs only by hand`, async (t) => {
      if (skip) {
        process.env["SVC_SKIP_CRON"] = "1";
        t.after(() => delete process.env["SVC_SKIP_CRON"]);
      }
      const scene = await openScene(t, { cron: { enabled: skip }, replies: [{ text: "by hand" }] });
      const gateway = await scene.start();
      const { id } = await gateway.add(report);
      await gateway.pass(30 * MINUTE);
      assert.deepEqual(await gateway.runs(id), []);
      assert.equal((await gateway.client.call(cron.status, {})).enabled, false);
      assert.deepEqual(await gateway.client.call(cron.run, { id }), { ok: true, ran: true });
      assert.deepEqual(await gateway.records(id), ["ran ok"]);
    });

  it("maxConcurrentRuns makes the others wait, and runLog.keepLines deletes the oldest records", async (t) => {
    const replies = () => ({ text: "done", delayMs: 30 });
    const scene = await openScene(t, { cron: { maxConcurrentRuns: 1, runLog: { keepLines: 2 } }, replies });
    const gateway = await scene.start();
    const jobs = await Promise.all(["a", "b", "c"].map((name) => gateway.add({ ...report, name })));
    await gateway.pass(10 * MINUTE);
    for (const { id } of jobs) await gateway.settled(id, 1);
    const actions = gateway.events.map(({ action }) => action).filter((action) => action !== "added");
    assert.deepEqual(actions, ["started", "finished", "started", "finished", "started", "finished"]);
    const [{ id } = assert.fail()] = jobs;
    for (let turn = 0; turn < 3; turn += 1) await gateway.client.call(cron.run, { id });
    await gateway.until(async () => (await gateway.runs(id)).length === 2, "the oldest to go");
    assert.equal(
      (await gateway.runs(id)).every(({ manual }) => manual),
      true,
    );
  });

  it("failureAlert and failureDestination are the defaults of jobs without their own", async (t) => {
    const post = pigeonPost();
    const web = outside();
    const failureAlert = { enabled: true, after: 1, cooldownMs: 0, mode: "announce", accountId: "second" };
    const failureDestination = { channel: "pigeon", to: "https://ops.example/x", accountId: "third", mode: "webhook" };
    const scene = await openScene(t, {
      replies: () => ({ status: 400, message: "no" }),
      plugins: [post.plugin, web.plugin],
      cron: { failureAlert, failureDestination },
    });
    const gateway = await scene.start();
    const { id } = await gateway.add({ ...report, delivery: { mode: "announce", channel: "pigeon", to: "boss" } });
    await gateway.client.call(cron.run, { id });
    await gateway.client.call(cron.run, { id });
    await gateway.until(() => post.requests.length === 2 && web.requests.length === 2, "what is told");
    assert.deepEqual(
      post.requests.map(({ channel, to, accountId }) => [channel, to, accountId]),
      Array.from({ length: 2 }, () => ["pigeon", "boss", "second"]),
    );
    assert.deepEqual(new Set(web.requests.map(({ url }) => url)), new Set(["https://ops.example/x"]));
    assert.match(post.requests[1]?.text ?? "", /failed 2 times in a row/);
  });
});

// long: kills and restarts gateways
/** Recovery of runs after a stop: never lost, never repeated. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openScene, type SceneOptions, until } from "../webhook-scene.ts";
import { bell, calm, KEY, pigeonPost, told } from "./surroundings.ts";

const limited = { timeout: 120_000 };

const open = async (t: Parameters<typeof openScene>[0], options: SceneOptions = {}) => {
  const scene = await openScene(t, options);
  return { scene, gateway: await scene.start() };
};

describe("after a stop or a crash", limited, () => {
  const hangs = { pieces: ["Half ", "way"], hangAfter: 1 };

  /** Stops the gateway after this many requests of a run, and starts another one. */
  async function restarted(t: Parameters<typeof openScene>[0], requests: number, options: SceneOptions) {
    const { scene, gateway } = await open(t, options);
    const job = await gateway.job("agent", calm);
    const cutOff = assert.rejects(gateway.run(job), { code: "UNAVAILABLE" });
    await until(() => scene.server.requests.length === requests, "the run");
    await gateway.gateway.stop();
    await cutOff;
    return { scene, job, second: await scene.start() };
  }

  it("uses the result of a run that continued after the restart, since it had called no tool", async (t) => {
    const { job, second } = await restarted(t, 1, { replies: [hangs, { text: "All green" }] });
    const result = await second.run({ ...job, attempt: 2 });
    assert.deepEqual(result?.details, { agentRunId: "r1", sessionKey: KEY, status: "ok" });
    assert.equal((await second.runs.state("r1"))?.status, "ok");
    const lines = await second.outline(KEY);
    assert.deepEqual([lines.length, lines[1]], [2, "assistant: All green"]);
    assert.deepEqual(await told(second), ["Hook Build: All green"]);
  });

  it("uses that result though another attempt or webhook has reset the conversation", async (t) => {
    const { job, second } = await restarted(t, 1, { replies: [hangs, { text: "All green" }] });
    await until(async () => (await second.runs.state("r1"))?.status === "ok", "the end of the run");
    await second.sessions.reset(KEY, "new");
    const result = await second.run({ ...job, attempt: 3 });
    assert.deepEqual([result?.summary, result?.details?.["agentRunId"]], ["All green", "r1"]);
  });

  for (const isReset of [false, true]) {
    it(`does not repeat a run that had called a tool${isReset ? ", whose conversation was reset" : ""}`, async (t) => {
      const { plugin, rung } = bell();
      const replies = [{ toolCalls: [{ name: "ring", arguments: {} }] }, hangs];
      const { scene, job, second } = await restarted(t, 2, { replies, plugins: [plugin] });
      if (isReset) await second.sessions.reset(KEY, "new");
      const again = second.run({ ...job, attempt: 2 });
      await assert.rejects(again, { code: "INVALID_REQUEST", message: /it had called tools.*svc hooks replay r1/ });
      assert.deepEqual([rung, scene.server.requests.length], [["r1"], 2]);
      const report = /^Hook Build \(interrupted\): interrupted by a gateway restart; it had/;
      assert.match((await told(second)).join(), report);
    });

    it(`repeats a run that failed because a server was unavailable${isReset ? ", after a reset, too" : ""}`, async (t) => {
      const server = { isBusy: true };
      const replies = () => (server.isBusy ? { status: 503, message: "busy" } : { text: "All green" });
      const { gateway } = await open(t, { replies });
      const job = await gateway.job("agent", calm);
      await assert.rejects(gateway.run(job), { code: "UNAVAILABLE" });
      server.isBusy = false;
      if (isReset) await gateway.sessions.reset(KEY, "new");
      const result = await gateway.run({ ...job, attempt: 2 });
      assert.deepEqual([result?.summary, result?.details?.["agentRunId"]], ["All green", "r1:2"]);
    });
  }

  it("does not repeat a run that failed after a tool call, even for a temporary failure", async (t) => {
    const { plugin, rung } = bell();
    const replies = (_request: unknown, index: number) =>
      index === 0 ? { toolCalls: [{ name: "ring", arguments: {} }] } : { status: 503, message: "busy" };
    const { gateway } = await open(t, { replies, plugins: [plugin] });
    const job = await gateway.job("agent", calm);
    await assert.rejects(gateway.run(job), { code: "INVALID_REQUEST", message: /called tools/ });
    assert.deepEqual(rung, ["r1"]);
  });

  it("reports a run that ended before the stop, without another run", async (t) => {
    const post = pigeonPost();
    const scene = await openScene(t, { replies: [{ text: "All green" }], plugins: [post.plugin] });
    const first = await scene.start();
    const job = await first.job("agent", { ...calm, deliver: true });
    const { sessionKey } = await first.prepare("agent", calm);
    // The state after a crash right after the end of the run.
    await first.runs.start({
      runId: "r1",
      sessionKey: sessionKey ?? assert.fail(),
      message: "x",
      source: "hook",
      principal: job.principal,
    });
    await first.runs.wait("r1", 20_000);
    await first.gateway.stop();
    const second = await scene.start();
    const result = await second.run({ ...job, attempt: 2 });
    assert.deepEqual([result?.summary, scene.server.requests.length, post.requests.length], ["All green", 1, 1]);
    assert.deepEqual(await told(second), ["Hook Build: All green (delivered to pigeon)"]);
    await second.run({ ...job, attempt: 3 });
    assert.equal((await told(second)).length, 1, "the summary has an id");
    assert.deepEqual(new Set(post.requests.map(({ id }) => id)), new Set(["r1"]));
  });

  it("waits for an accepted run that continues after the restart", async (t) => {
    const green = { text: "All green" };
    const scene = await openScene(t, { replies: [hangs, green, green], defaults: { maxConcurrent: 1 } });
    const first = await scene.start();
    const [slow, waiting] = await Promise.all([
      first.job("agent", { ...calm, sessionKey: "hook:slow" }, { runId: "r0" }),
      first.job("agent", calm),
    ]);
    const cutOff = [slow, waiting].map((job) => assert.rejects(first.run(job), { code: "UNAVAILABLE" }));
    await until(() => scene.server.requests.length === 1, "the slow one");
    await until(async () => (await first.runs.state("r1"))?.status === "accepted", "the one that waits");
    await first.gateway.stop();
    await Promise.all(cutOff);
    const second = await scene.start();
    const result = await second.run({ ...waiting, attempt: 2 });
    assert.deepEqual(result?.details?.["agentRunId"], "r1");
    assert.equal(result?.summary, "All green");
  });
});

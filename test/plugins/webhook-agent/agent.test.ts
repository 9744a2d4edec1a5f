/** The action in a gateway: runs, deliveries, and reports to the main session. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, isGatewayError } from "@svc/sdk";
import { MAX_WAITING } from "../../../plugins/heartbeat/event-store.ts";
import { event } from "../heartbeat/events.ts";
import { askedOf, MAIN, openScene, type SceneOptions, systemOf, until } from "../webhook-scene.ts";
import { calm, KEY, pigeonPost, told } from "./surroundings.ts";

const limited = { timeout: 120_000 };

const open = async (t: Parameters<typeof openScene>[0], options: SceneOptions = {}) => {
  const scene = await openScene(t, options);
  return { scene, gateway: await scene.start() };
};

describe("the action agent", limited, () => {
  it("runs in a separate session as the job's principal, and reports to the main session", async (t) => {
    const { scene, gateway } = await open(t, { replies: [{ text: "All green" }] });
    const result = await gateway.run(
      await gateway.job("agent", { ...calm, model: "fake/gpt-y", sessionKey: "hook:b" }),
    );
    const sessionKey = "agent:main:hook:b";
    assert.deepEqual(result, { summary: "All green", details: { agentRunId: "r1", sessionKey, status: "ok" } });
    const [request] = scene.server.requests;
    assert.ok(request);
    assert.equal(request.body.model, "gpt-y");
    assert.match(askedOf(request), /Task: Build \| Job ID: r1 \| Received: [^]*\n\nlook at it\n\nCurrent time:/);
    assert.doesNotMatch(systemOf(request), /sent to a chat/);
    assert.deepEqual(await told(gateway), ["Hook Build: All green"]);
    const [event] = await gateway.events.waiting(MAIN);
    assert.deepEqual([event?.id, event?.wake, event?.reason], ["r1:summary", "next-heartbeat", "hook:r1"]);
    const state = await gateway.runs.state("r1");
    assert.deepEqual([state?.source, state?.status, state?.sessionKey], ["hook", "ok", sessionKey]);
  });

  it("wakes the main session for the summary by default", async (t) => {
    const { scene, gateway } = await open(t, { replies: [{ text: "All green" }, { text: "HEARTBEAT_OK" }] });
    await gateway.run(await gateway.job("agent", { ...calm, wakeMode: "now" }));
    await until(() => scene.server.requests.length === 2, "the wake");
    assert.match(
      systemOf(scene.server.requests[1] ?? assert.fail()),
      /- \[.*\] <<<EXTERNAL_UNTRUSTED_CONTENT id="\w+">>>\n.*\n {2}From: webhook \(Build\)\n {2}---\n {2}Hook Build: All green$/m,
    );
  });

  it("also reports runs of other agents to the global main session", async (t) => {
    const { gateway } = await open(t, { agents: [{ id: "main", default: true }, { id: "ops" }] });
    await gateway.run(await gateway.job("agent", { ...calm, agentId: "ops" }));
    assert.equal((await gateway.runs.state("r1"))?.sessionKey, "agent:ops:hook:1234");
    assert.equal((await told(gateway)).length, 1);
  });

  it("succeeds however many events wait for the main session", async (t) => {
    const { gateway } = await open(t, { replies: [{ text: "All green" }] });
    const waiting = Array.from({ length: MAX_WAITING }, (_, index) => gateway.events.statements(event(`e${index}`)));
    await gateway.storage.transaction(waiting.flat());
    const result = await gateway.run(await gateway.job("agent", calm));
    assert.equal(result?.summary, "All green");
    const all = "SELECT id FROM heartbeat_events WHERE status = 'waiting' ORDER BY seq DESC LIMIT 1";
    assert.deepEqual(await gateway.storage.get(all), { id: "r1:summary" });
  });

  it("starts a new conversation for every run of a key, one at a time", async (t) => {
    const replies = [{ text: "one", delayMs: 300 }, { text: "two" }];
    const { scene, gateway } = await open(t, { replies });
    const jobs = await Promise.all(["r1", "r2"].map((runId) => gateway.job("agent", calm, { runId })));
    const results = await Promise.all(jobs.map((job) => gateway.run(job)));
    assert.deepEqual(
      results.map((result) => result?.summary),
      ["one", "two"],
    );
    const second = scene.server.requests[1]?.body.messages?.filter(({ role }) => role !== "system") ?? [];
    assert.equal(second.length, 1, "nothing of the first conversation");
    assert.deepEqual((await gateway.outline(KEY)).slice(1), ["assistant: two"]);
    assert.deepEqual(await told(gateway), ["Hook Build: one", "Hook Build: two"]);
  });

  it("waits for another caller's run in that session", async (t) => {
    const { scene, gateway } = await open(t, { replies: [{ text: "slow", delayMs: 500 }, { text: "fine" }] });
    const turn = gateway.turn("t1", KEY);
    await until(() => scene.server.requests.length === 1, "the other run");
    await gateway.run(await gateway.job("agent", calm));
    assert.equal(await turn, "ok");
  });

  it("fails permanently after its timeout, and reports that once", async (t) => {
    const { gateway } = await open(t, { replies: [{ pieces: ["Half"], hangAfter: 1 }] });
    const job = await gateway.job("agent", { ...calm, timeoutSeconds: 1 });
    await assert.rejects(gateway.run(job), { code: "AGENT_TIMEOUT", message: "the run timed out" });
    await assert.rejects(gateway.run({ ...job, attempt: 2 }), { code: "AGENT_TIMEOUT" });
    assert.deepEqual(await told(gateway), ["Hook Build (timeout): the run timed out"]);
  });

  const failures: [what: string, status: number, code: string, isFinal: boolean][] = [
    ["a key that is refused", 401, "INVALID_REQUEST", true],
    ["a question that is refused", 400, "INVALID_REQUEST", true],
    ["a server that is overloaded", 503, "UNAVAILABLE", false],
    ["a limit that passes", 429, "UNAVAILABLE", false],
  ];
  for (const [what, status, code, isFinal] of failures) {
    it(`${isFinal ? "fails permanently" : "requests a retry"} after ${what}`, async (t) => {
      const { gateway } = await open(t, { replies: () => ({ status, message: "no" }) });
      const job = await gateway.job("agent", calm);
      await assert.rejects(gateway.run(job), (error) => isGatewayError(error) && error.code === code);
      const texts = await told(gateway);
      assert.equal(texts.length, isFinal ? 1 : 0);
      if (isFinal) assert.match(texts[0] ?? "", /^Hook Build \(error\): /);
    });
  }

  it("fails permanently for an unknown model", async (t) => {
    const { gateway } = await open(t);
    const job = await gateway.job("agent", { ...calm, model: "fake/none" });
    await assert.rejects(gateway.run(job), { code: "INVALID_REQUEST", message: /fake\/none/ });
  });

  it("refuses a model outside agents.defaults.models before anything is stored", async (t) => {
    const { gateway } = await open(t, { defaults: { models: { "fake/gpt-x": { alias: "x" } } } });
    await assert.rejects(gateway.prepare("agent", { ...calm, model: "fake/gpt-y" }), {
      code: "INVALID_REQUEST",
      message: /^model "fake\/gpt-y" is not allowed/,
    });
    await gateway.prepare("agent", { ...calm, model: "X" });
    await assert.rejects(gateway.prepare("agent", { ...calm, channel: "pigeon" }), { message: "channel must be last" });
  });
});

describe("delivery", limited, () => {
  const loud = { ...calm, deliver: true };

  it("sends the reply once, asks for a plain summary, and marks the report", async (t) => {
    const post = pigeonPost();
    const { scene, gateway } = await open(t, { replies: [{ text: "All green" }], plugins: [post.plugin] });
    const result = await gateway.run(await gateway.job("agent", { ...loud, channel: "Pigeon", to: "coop 7" }));
    const request = { id: "r1", channel: "pigeon", to: "coop 7", sessionKey: MAIN, text: "All green" };
    assert.deepEqual(post.requests, [request]);
    assert.match(systemOf(scene.server.requests[0] ?? assert.fail()), /plain text/);
    assert.deepEqual(result?.details?.["delivery"], { delivered: true, channel: "pigeon", to: "coop 7" });
    assert.deepEqual(await told(gateway), ["Hook Build: All green (delivered to pigeon)"]);
  });

  for (const text of ["NO_REPLY", "HEARTBEAT_OK all quiet"]) {
    it(`sends nothing for ${text}`, async (t) => {
      const post = pigeonPost();
      const { gateway } = await open(t, { replies: [{ text }], plugins: [post.plugin] });
      const result = await gateway.run(await gateway.job("agent", loud));
      assert.deepEqual(post.requests, []);
      assert.deepEqual(result?.details?.["delivery"], { delivered: false, reason: "the reply is silent" });
      assert.equal((await told(gateway)).length, 1);
    });
  }

  it("works without a plugin that delivers", async (t) => {
    const { gateway } = await open(t, { replies: [{ text: "All green" }] });
    const result = await gateway.run(await gateway.job("agent", loud));
    assert.deepEqual(result?.details?.["delivery"], {
      delivered: false,
      reason: "no plugin delivers to channels; the reply stays in its session",
    });
    assert.deepEqual(await told(gateway), ["Hook Build: All green"]);
  });

  it("reports why it was not delivered; the run succeeds", async (t) => {
    const nowhere = { delivered: false, reason: "nobody has spoken yet" } as const;
    const post = pigeonPost(nowhere);
    const { gateway } = await open(t, { replies: [{ text: "All green" }], plugins: [post.plugin] });
    const result = await gateway.run(await gateway.job("agent", loud));
    assert.deepEqual([result?.details?.["status"], result?.details?.["delivery"]], ["ok", nowhere]);
  });

  it("is retried without another run after a temporary failure", async (t) => {
    const post = pigeonPost(new GatewayError("UNAVAILABLE", "no pigeons"));
    const { scene, gateway } = await open(t, { replies: [{ text: "All green" }], plugins: [post.plugin] });
    const job = await gateway.job("agent", loud);
    await assert.rejects(gateway.run(job), { code: "UNAVAILABLE", message: "no pigeons" });
    assert.deepEqual(await told(gateway), []);
    const result = await gateway.run({ ...job, attempt: 2 });
    assert.deepEqual([result?.summary, scene.server.requests.length], ["All green", 1]);
    assert.deepEqual(
      post.requests.map(({ id }) => id),
      ["r1", "r1"],
    );
    assert.deepEqual(await told(gateway), ["Hook Build: All green (delivered to pigeon)"]);
  });
});

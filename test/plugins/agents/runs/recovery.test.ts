import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { checkedSql } from "@svc/kit/sql";
import type { AssistantMessage } from "@svc/sdk/models";
import { DRAIN_MS } from "../../../../plugins/agents/runs/runs.ts";
import { checkedStorage, ended, type FixtureOptions, openFixture, outline, run, spoke, until } from "../fixture.ts";
import { calls, hangsAfter, held, inTurn, MAIN, plainTool, principal, request, says, watched } from "../script.ts";

/** A model that calls a tool, and hangs once it has the answer. */
const usesTool = (): FixtureOptions => ({
  tools: { look: { description: "Looks", params: { type: "object" }, scope: "operator.write", run: () => "seen" } },
  answer: inTurn(says(calls("look")), hangsAfter("Half")),
});

describe("recovery", () => {
  it("runs what was accepted and begins again what was running, after a crash", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start({ answer: hangsAfter("Half") });
    for (const runId of ["r1", "r2", "r3"]) {
      await crashed.runs.start(request(runId, { images: [{ type: "image", data: "AAAA", mimeType: "image/png" }] }));
    }
    await spoke(crashed);

    const scopes: (readonly string[])[] = [];
    const { answer, asked } = watched(says("fine"));
    const gateway = await fixture.start({
      runBefore: ({ principal: caller }) => void scopes.push(caller.scopes),
      answer,
    });
    for (const runId of ["r1", "r2", "r3"]) assert.equal((await ended(gateway, runId)).status, "ok");
    assert.deepEqual(await outline(gateway), [
      "user: hello from r1",
      "assistant: fine",
      "user: hello from r2",
      "assistant: fine",
      "user: hello from r3",
      "assistant: fine",
    ]);
    const [message, ...others] = asked[0]?.messages ?? [];
    assert.deepEqual([message?.content.map(({ type }) => type), others], [["text", "image"], []]);
    assert.deepEqual(scopes, [], "the gate was passed when the run was accepted");
  });

  it("ends what waited or ran for a credential that ended meanwhile, and asks no model for it", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start({ answer: hangsAfter("Half") });
    for (const runId of ["r1", "r2"]) await crashed.runs.start(request(runId));
    const other = { ...principal, id: "device:other" };
    await crashed.runs.start(request("r3", { principal: other }));
    await spoke(crashed);

    const gateway = await fixture.start({ isLive: ({ id }) => id === other.id, answer: inTurn(says("fine")) });
    for (const runId of ["r1", "r2"]) {
      const outcome = await ended(gateway, runId);
      assert.deepEqual([outcome.status, outcome.abortReason], ["aborted", "revoked"]);
    }
    assert.equal((await ended(gateway, "r3")).text, "fine");
    const state = await gateway.runs.state("r2");
    assert.match(String(state?.error), /the credential it was started with ended/);
  });

  it("closes what was running and had called a tool", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start(usesTool());
    for (const runId of ["r1", "r2"]) await crashed.runs.start(request(runId));
    await spoke(crashed);
    const gateway = await fixture.start();
    assert.equal((await ended(gateway, "r2")).status, "ok");
    const interrupted = (await gateway.sessions.transcript(MAIN, 10))[3]?.message;
    const { stopReason, errorMessage } = interrupted as AssistantMessage;
    assert.deepEqual([stopReason, errorMessage], ["error", "interrupted by a gateway restart"]);
    const { status, error } = (await gateway.runs.state("r1")) ?? {};
    assert.deepEqual([status, error], ["interrupted", "interrupted by a gateway restart"]);
    const outcome = await gateway.runs.wait("r1", 0);
    assert.deepEqual([outcome?.status, outcome?.calledTools], ["error", true]);
    assert.deepEqual(gateway.finished[0]?.runId, "r1");
  });

  it("closes a run whose caller waited with an open connection", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start({ answer: hangsAfter("Half") });
    await crashed.runs.start(request("r1", { lane: "http" }));
    await spoke(crashed);
    const gateway = await fixture.start();
    const outcome = await ended(gateway, "r1");
    assert.deepEqual([outcome.errorMessage, outcome.calledTools], ["interrupted by a gateway restart", false]);
  });

  it("begins a run again three times at most", async (t) => {
    const fixture = await openFixture(t);
    let gateway = await fixture.start({ answer: hangsAfter("Half") });
    await gateway.runs.start(request("r1"));
    for (let restarts = 0; restarts < 3; restarts += 1) {
      await spoke(gateway);
      gateway = await fixture.start({ answer: hangsAfter("Half") });
      assert.equal((await gateway.runs.state("r1"))?.status !== "interrupted", true);
    }
    await spoke(gateway);
    gateway = await fixture.start();
    assert.equal((await gateway.runs.state("r1"))?.status, "interrupted");
    assert.deepEqual(await outline(gateway), ["user: hello from r1", "assistant: "]);
  });

  it("keeps the order of runs that were accepted in the same millisecond", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start({ answer: hangsAfter("Half") });
    for (const runId of ["r0", "r9", "r5", "r7"]) await crashed.runs.start(request(runId));
    await spoke(crashed);
    const gateway = await fixture.start();
    await ended(gateway, "r7");
    const asked = (await outline(gateway)).filter((line) => line.startsWith("user"));
    assert.deepEqual(
      asked,
      ["r0", "r9", "r5", "r7"].map((runId) => `user: hello from ${runId}`),
    );
  });

  it("accepts and runs a request once when two gateways on one storage get it", async (t) => {
    const fixture = await openFixture(t);
    const options = { isAlive: true };
    const gateways = [await fixture.start(options), await fixture.start(options)];
    const both = await Promise.all(gateways.map(({ runs }) => runs.start(request("r1"))));
    assert.equal(both.filter(({ fresh }) => fresh).length, 1);
    const finished = () => gateways.flatMap((gateway) => gateway.finished);
    await until(() => finished().length > 0 && gateways.every(({ runs }) => runs.active(MAIN).length === 0));
    assert.deepEqual(
      finished().map(({ status }) => status),
      ["ok"],
    );
    assert.deepEqual(gateways[0] && (await outline(gateways[0])), ["user: hello from r1", "assistant: fine"]);
  });

  it("begins no run again whose end storage refused for good", async (t) => {
    const fixture = await openFixture(t);
    const refusing: FixtureOptions = {
      storage: checkedStorage((statements) => {
        const isClosing = statements.some(({ sql }) =>
          checkedSql(sql, "sqlite").startsWith("UPDATE agent_runs SET status = ?"),
        );
        if (isClosing && statements.length > 1) throw new Error("the message is refused");
      }),
    };
    const crashed = await fixture.start(refusing);
    await crashed.runs.start(request("r1"));
    const { status, errorMessage } = await ended(crashed, "r1");
    assert.deepEqual([status, errorMessage], ["error", "the reply could not be stored"]);
    const { runs, finished } = await fixture.start();
    const state = await runs.state("r1");
    assert.deepEqual([state?.status, state?.error], ["error", "the reply could not be stored"]);
    assert.deepEqual([runs.active(MAIN), finished], [[], []]);
  });

  it("closes an interrupted run once, however often the gateway starts", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start(usesTool());
    await crashed.runs.start(request("r1"));
    await spoke(crashed);
    await fixture.start();
    const gateway = await fixture.start();
    assert.equal((await outline(gateway)).filter((line) => line === "assistant: ").length, 2, "the call and the end");
  });

  it("knows runs of before the restart", async (t) => {
    const fixture = await openFixture(t);
    await run(await fixture.start(), "r1");
    const { runs } = await fixture.start();
    const again = await runs.start(request("r1"));
    assert.deepEqual([again.fresh, again.state.status], [false, "ok"]);
    assert.equal((await runs.wait("r1", 0))?.text, "fine");
  });

  it("runs a resumed run for whoever asked for it", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start({ answer: hangsAfter("Half") });
    for (const runId of ["r1", "r2"]) {
      await crashed.runs.start(request(runId, { principal: { ...principal, id: "device:x", scopes: [] } }));
    }
    await spoke(crashed);
    const { answer, asked } = watched(says("fine"));
    await ended(await fixture.start({ tools: { read: plainTool(() => "") }, answer }), "r2");
    assert.deepEqual(asked.at(-1)?.tools, []);
  });

  it("does not keep the message once it stands in the transcript", async (t) => {
    const fixture = await openFixture(t);
    await run(await fixture.start(), "r1");
    const row = await fixture.storage.get("SELECT request FROM agent_runs WHERE run_id = ?", ["r1"]);
    assert.deepEqual(row, { request: null });
  });
});

describe("stop", () => {
  it("lets running runs end, keeps waiting ones for the next start, and takes nothing more", async (t) => {
    const fixture = await openFixture(t);
    const { answer, release } = held();
    const stopping = await fixture.start({ config: { defaults: { maxConcurrent: 1 } }, answer });
    for (const runId of ["r1", "r2"]) await stopping.runs.start(request(runId));
    await spoke(stopping);
    const stopped = stopping.runs.stop();
    await assert.rejects(stopping.runs.start(request("r3")), { code: "UNAVAILABLE", retryAfterMs: 2_000 });
    release();
    await stopped;
    assert.equal(stopping.clock.pending(), 0);
    await stopping.runs.stop();

    const gateway = await fixture.start({ answer: says("fine") });
    assert.equal((await gateway.runs.state("r1"))?.status, "ok");
    assert.equal((await ended(gateway, "r2")).status, "ok");
  });

  it("waits for running runs although one that is being accepted is refused", async (t) => {
    const fixture = await openFixture(t);
    const { answer, release } = held();
    let refuse: (error: Error) => void = () => undefined;
    const denied = new Promise<never>((_, reject) => (refuse = reject));
    denied.catch(() => undefined);
    let isHeld = false;
    const stopping = await fixture.start({
      storage: checkedStorage(() => isHeld && denied),
      answer,
    });
    await stopping.runs.start(request("r0"));
    await spoke(stopping);
    isHeld = true;
    const refused = assert.rejects(stopping.runs.start(request("r1")), /no room/);
    await tick();
    const stopped = stopping.runs.stop();
    refuse(new Error("no room"));
    await refused;
    isHeld = false;
    release();
    await stopped;
    assert.equal((await stopping.runs.state("r0"))?.status, "ok");
  });

  it("lets go of runs that take too long, and the next start begins them again", async (t) => {
    const fixture = await openFixture(t);
    const stopping = await fixture.start({ answer: hangsAfter("Half") });
    await stopping.runs.start(request("r1"));
    await spoke(stopping);
    const waiting = stopping.runs.wait("r1", 60_000);
    const stopped = stopping.runs.stop();
    await tick();
    stopping.clock.advance(DRAIN_MS);
    await stopped;
    assert.equal(await waiting, undefined);
    await tick();
    assert.equal(stopping.clock.pending(), 0);
    assert.equal(stopping.finished.length, 0);

    const gateway = await fixture.start();
    assert.equal((await ended(gateway, "r1")).status, "ok");
  });
});

describe("two gateways on one storage", () => {
  it("leave each other's runs alone, whatever the wall clock shows, and take them once the lease has ended", async (t) => {
    const fixture = await openFixture(t);
    const first = await fixture.start({ answer: hangsAfter("Half"), isAlive: true });
    for (const runId of ["r1", "r2"]) await first.runs.start(request(runId));
    await spoke(first);
    const second = await fixture.start({ isAlive: true });
    for (const jumpMs of [0, 7_200_000, -14_400_000]) {
      fixture.clock.jump(jumpMs);
      await second.runs.sweep();
    }
    assert.deepEqual(await Promise.all(["r1", "r2"].map(async (id) => (await second.runs.state(id))?.status)), [
      "running",
      "accepted",
    ]);
    assert.deepEqual([second.events, second.finished], [[], []]);

    const answered = first.runs.wait("r1", 600_000);
    await first.losesLease();
    await second.runs.sweep();
    for (const runId of ["r1", "r2"]) assert.equal((await ended(second, runId)).status, "ok");
    assert.equal(first.runs.abort("r1", "rpc"), true);
    await until(async () => (fixture.clock.advance(1_000), first.runs.active(MAIN).length === 0));
    await untilDone(answered, fixture.clock);
    assert.equal((await answered)?.text, "fine", "whoever waits at the first one gets the answer of the second");
    assert.deepEqual(first.finished, []);
    assert.deepEqual(await outline(second), [
      "user: hello from r1",
      "assistant: fine",
      "user: hello from r2",
      "assistant: fine",
    ]);
  });

  it("abandon their runs at once when they notice that their lease has ended, and store nothing more of them", async (t) => {
    const fixture = await openFixture(t);
    const { answer, release } = held();
    const first = await fixture.start({ isAlive: true, answer });
    await first.runs.start(request("r1"));
    await spoke(first);
    await first.losesLease();
    await until(() => first.runs.active(MAIN).length === 0, "the runs are abandoned", 10_000);
    release();
    await assert.rejects(first.runs.start(request("r2")), { code: "UNAVAILABLE" });
    assert.deepEqual([first.finished, (await first.runs.state("r1"))?.status], [[], "running"]);
    const second = await fixture.start({ isAlive: true });
    assert.equal((await ended(second, "r1")).status, "ok");
    assert.deepEqual(await outline(second), ["user: hello from r1", "assistant: fine"]);
  });

  it("answer whoever waits for a run of the other", async (t) => {
    const fixture = await openFixture(t);
    const { answer, release } = held();
    const first = await fixture.start({ isAlive: true, answer });
    const second = await fixture.start({ isAlive: true });
    await first.runs.start(request("r1"));
    const answered = second.runs.wait("r1");
    release();
    await ended(first, "r1");
    await untilDone(answered, fixture.clock);
    assert.equal((await answered)?.text, "Half");
  });
});

/** Moves the clock on until the promise settles. */
async function untilDone(promise: Promise<unknown>, clock: { advance(ms: number): void }): Promise<void> {
  let isDone = false;
  void promise.finally(() => (isDone = true));
  await until(() => (clock.advance(1_000), isDone));
}

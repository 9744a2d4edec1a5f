import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { checkedSql } from "@svc/kit/sql";
import { isGatewayStopping } from "@svc/kit/runs";
import type { RunRequest } from "@svc/sdk/agents";
import { ended, openFixture, outline, run, spoke, start, until } from "../fixture.ts";
import { hangsAfter, held, inTurn, MAIN, request, says } from "../script.ts";

/** A model that hangs in the first run and answers afterwards. */
const hangsFirst = () => inTurn(hangsAfter("Half"), says("fine"));

describe("runs that are stopped", () => {
  it("that run keep their words when they are aborted", async (t) => {
    const gateway = await start(t, { answer: hangsFirst() });
    await gateway.runs.start(request("r1"));
    await spoke(gateway);
    assert.equal(gateway.runs.abort("r1", "stop"), true);
    assert.equal(gateway.runs.abort("r1", "stop"), false, "it is being stopped already");
    const outcome = await ended(gateway, "r1");
    assert.deepEqual([outcome.status, outcome.abortReason, outcome.text], ["aborted", "stop", "Half"]);
    const [, partial] = await gateway.sessions.transcript(MAIN, 10);
    assert.equal(partial?.message.role === "assistant" && partial.message.idempotencyKey, "r1:assistant");
    assert.deepEqual(gateway.events.at(-1)?.data["aborted"], true);
    assert.equal((await gateway.runs.state("r1"))?.status, "aborted");
    assert.equal((await gateway.sessions.get(MAIN))?.abortedLastRun, true);
  });

  it("that wait end at once when they are aborted, and never reach the model", async (t) => {
    const gateway = await start(t, { answer: hangsFirst() });
    for (const runId of ["r1", "r2"]) await gateway.runs.start(request(runId));
    assert.equal(gateway.runs.abort("r2", "rpc"), true);
    const outcome = await ended(gateway, "r2");
    assert.deepEqual([outcome.status, outcome.startedAt], ["aborted", undefined]);
    assert.equal((await gateway.runs.state("r2"))?.status, "aborted");
    assert.deepEqual(await outline(gateway), ["user: hello from r1"]);
    assert.equal(gateway.runs.abort("r2", "rpc"), false);
    assert.equal(gateway.runs.abort("r9", "rpc"), false);
    gateway.runs.abort("r1", "rpc");
    await ended(gateway, "r1");
  });

  it("end at once when they are aborted while they are being accepted", async (t) => {
    let open: () => void = () => undefined;
    const writing = new Promise<void>((resolve) => (open = resolve));
    const gateway = await start(t, {
      storage: (real) => ({
        ...real,
        transaction: async (statements) => {
          const results = await real.transaction(statements);
          if (checkedSql(statements[0]?.sql ?? "", "sqlite").startsWith("INSERT INTO agent_runs")) await writing;
          return results;
        },
      }),
    });
    const starting = gateway.runs.start(request("r1"));
    await until(() => gateway.runs.abort("r1", "rpc"));
    open();
    await starting;
    assert.equal((await ended(gateway, "r1")).status, "aborted");
    assert.deepEqual(await outline(gateway), []);
  });

  const reasons: [reason: string, said: RegExp][] = [
    ["rpc", /^it was stopped by a client$/],
    ["stop", /^it was stopped by a stop command$/],
    ["disconnect", /its caller disconnected/],
    ["parent", /with the run that started it/],
    ["something else", /^it was stopped \(something else\)$/],
    ["", /no reason was given/],
  ];
  for (const [reason, said] of reasons) {
    it(`say in their record that they were stopped by "${reason}"`, async (t) => {
      const gateway = await start(t, { answer: hangsFirst() });
      await gateway.runs.start(request("r1"));
      await spoke(gateway);
      gateway.runs.abort("r1", reason);
      await ended(gateway, "r1");
      assert.match((await gateway.runs.state("r1"))?.error ?? "", said);
    });
  }

  const limits: [what: string, asked: Partial<RunRequest>, limitMs: number][] = [
    ["the configured time", {}, 20_000],
    ["the time they were given", { timeoutMs: 3_000 }, 3_000],
  ];
  for (const [what, asked, limitMs] of limits) {
    it(`are stopped after ${what}`, async (t) => {
      const gateway = await start(t, { config: { defaults: { timeoutSeconds: 20 } }, answer: hangsFirst() });
      await gateway.runs.start(request("r1", asked));
      await spoke(gateway);
      gateway.clock.advance(limitMs - 1);
      assert.equal(gateway.runs.active(MAIN).length, 1);
      gateway.clock.advance(1);
      const outcome = await ended(gateway, "r1");
      assert.deepEqual([outcome.status, outcome.abortReason, outcome.text], ["aborted", "timeout", "Half"]);
    });
  }

  it("have no limit with a timeout of 0, and leave no timer behind", async (t) => {
    const gateway = await start(t, { answer: hangsFirst() });
    await gateway.runs.start(request("r1", { timeoutMs: 0 }));
    await spoke(gateway);
    assert.equal(gateway.clock.pending(), 0);
    gateway.runs.abort("r1", "rpc");
    await ended(gateway, "r1");
    await run(gateway, "r2");
    assert.equal(gateway.clock.pending(), 0);
  });

  it("of a session end before it is reset", async (t) => {
    const gateway = await start(t, { answer: hangsFirst() });
    for (const runId of ["r1", "r2"]) await gateway.runs.start(request(runId));
    await spoke(gateway);
    await gateway.sessions.reset(MAIN, "new");
    assert.deepEqual(
      gateway.finished.map(({ runId, status, abortReason }) => `${runId} ${status} ${abortReason}`).toSorted(),
      ["r1 aborted reset", "r2 aborted reset"],
    );
    assert.deepEqual(await outline(gateway), []);
  });
});

describe("a gateway that is going to stop", () => {
  /** r1 runs, r2 waits. */
  async function stopping(t: TestContext) {
    const fixture = await openFixture(t);
    const { answer, release: finish } = held();
    const gateway = await fixture.start({ answer });
    for (const runId of ["r1", "r2"]) await gateway.runs.start(request(runId));
    await spoke(gateway);
    return { fixture, gateway, finish };
  }

  it("refuses new runs, before their session is touched, and knows those it accepted", async (t) => {
    const { gateway, finish } = await stopping(t);
    gateway.runs.gatewayStops(false);
    let isPrepared = false;
    const prepare = async () => {
      isPrepared = true;
      return request("r4");
    };
    for (const starting of [
      gateway.runs.start(request("r3")),
      gateway.runs.prepareAndStart("r4", undefined, prepare),
      gateway.runs.start(request("r5"), prepare),
    ]) {
      await assert.rejects(starting, (error) => {
        assert.ok(isGatewayStopping(error) && error instanceof Error);
        assert.match(error.message, /^the gateway is stopping: try again after the restart$/);
        return "retryAfterMs" in error && error.retryAfterMs === 2_000;
      });
    }
    assert.equal(isPrepared, false);
    assert.equal((await gateway.runs.start(request("r2"))).fresh, false);
    finish();
    await ended(gateway, "r1");
  });

  it("accepts a run whose session was reset for it when the stop began meanwhile, and begins it after the restart", async (t) => {
    const { fixture, gateway, finish } = await stopping(t);
    const { state } = await gateway.runs.start(request("r3"), async () => gateway.runs.gatewayStops(false));
    assert.equal(state.status, "accepted");
    finish();
    await ended(gateway, "r1");
    await gateway.runs.stop();
    const next = await fixture.start({ answer: says("late") });
    assert.equal((await ended(next, "r3")).text, "late");
  });

  it("lets runs under way end, tells who waits for others, and begins those after the restart", async (t) => {
    const { fixture, gateway, finish } = await stopping(t);
    const before = gateway.runs.wait("r2").catch((error: unknown) => error);
    gateway.runs.gatewayStops(false);
    for (const error of [await before, await gateway.runs.wait("r2", 1_000).catch((thrown: unknown) => thrown)])
      assert.ok(isGatewayStopping(error));
    assert.equal(await gateway.runs.wait("r2", 0), undefined);
    assert.equal(gateway.runs.isWorking, true);
    finish();
    assert.equal((await ended(gateway, "r1")).status, "ok");
    await until(() => !gateway.runs.isWorking);
    gateway.runs.open();
    await gateway.runs.sweep();
    assert.equal((await gateway.runs.state("r2"))?.status, "accepted");
    await gateway.runs.stop();
    const next = await fixture.start({ answer: says("late") });
    assert.equal((await ended(next, "r2")).text, "late");
  });
});

/** One account over time: runs, ends, pauses, stops. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Contribution, GatewayError } from "@svc/sdk";
import type { Channel, ChannelRun, Receipt } from "@svc/sdk/channels";
import { createFakeClock } from "@svc/sdk/testing";
import { AccountRun, LET_GO_MS, STEADY_MS } from "../../../plugins/channels/accounts/account.ts";
import { untilStopped } from "./pigeon.ts";

const TAKEN: Receipt = { accepted: true, sessionKey: "k" };

function scene(run: (run: ChannelRun, nth: number) => Promise<void>, settings: object = {}) {
  const clock = createFakeClock();
  const started: number[] = [];
  const connected: string[] = [];
  const warned: string[] = [];
  const channel = {
    run(current: ChannelRun) {
      started.push(clock.elapsed());
      return run(current, started.length);
    },
  } as unknown as Channel; // all that an account uses
  const contribution: Contribution<Channel> = { id: "pigeon", plugin: "pigeon", value: channel };
  const account = new AccountRun({
    contribution,
    account: { id: "a", settings },
    clock,
    log: { info: () => undefined, warn: (fields, message) => void warned.push(`${message} ${JSON.stringify(fields)}`) },
    random: () => 0.5,
    call: (one, work) => work(one.value),
    receive: async () => TAKEN,
    connected: (from) => void connected.push(from.id),
    state: () => ({ read: async () => undefined, write: async () => undefined }),
    commands: () => [],
  });
  return { account, clock, started, connected, warned };
}

describe("an account", () => {
  it("is run again, later each time it fails", async () => {
    const { account, clock, started } = scene(() => Promise.reject(new Error("refused")));
    account.start();
    await clock.advance(16_000);
    assert.deepEqual(started, [0, 1_000, 3_000, 7_000, 15_000]);
    const { phase, failures, lastError, nextAttemptAt } = account.state;
    assert.deepEqual([phase, failures, lastError, nextAttemptAt], ["pausing", 5, "refused", clock.now() + 15_000]);
    await account.stop();
    assert.equal(account.state.phase, "stopped");
    await clock.advance(600_000);
    assert.equal(started.length, 5);
    assert.equal(clock.pending, 0);
  });

  it("that throws at once, or ends without a word, is run again, too", async () => {
    const { account, clock, started } = scene((_run, nth) => {
      if (nth === 1) throw new TypeError("a bug");
      return Promise.resolve();
    });
    account.start();
    await clock.advance(1_500);
    assert.deepEqual(started, [0, 1_000]);
    await account.stop();
  });

  it("starts with short pauses again after a steady connection", async () => {
    const { account, clock, started } = scene(async ({ report, signal }, nth) => {
      if (nth < 4) throw new Error("down");
      report({ state: "connected" });
      const lasts = nth === 4 ? STEADY_MS - 1 : STEADY_MS;
      const steady = new Promise<void>((resolve) => void clock.setTimeout(resolve, lasts));
      await Promise.race([steady, untilStopped({ signal })]);
    });
    account.start();
    await clock.advance(7_000); // 0, 1, 3, 7
    await clock.advance(STEADY_MS + 8_000 + STEADY_MS);
    assert.deepEqual(started.slice(3, 5), [7_000, 7_000 + STEADY_MS - 1 + 8_000]);
    await clock.advance(1_000);
    assert.equal(started[5], (started[4] ?? 0) + STEADY_MS + 1_000);
    await account.stop();
  });

  it("that has to be logged in is not tried again by itself", async () => {
    const { account, clock, started } = scene(async ({ report }) => {
      report({ state: "connected" });
      report({ state: "needs-login", detail: "the password is wrong" });
    });
    account.start();
    await clock.advance(3_600_000);
    assert.deepEqual(started, [0]);
    assert.equal(account.state.phase, "needs-login");
    const { lastStopAt: at, lastDisconnect } = account.state;
    assert.deepEqual(lastDisconnect, { at, error: "the password is wrong", loggedOut: true });
  });

  it("that the network no longer takes needs a login", async () => {
    const { account, clock, started } = scene(async ({ report }) => {
      report({ state: "connected" });
      throw new GatewayError("NOT_LINKED", "the token was revoked");
    });
    account.start();
    await clock.advance(3_600_000);
    assert.deepEqual(started, [0]);
    assert.deepEqual([account.state.phase, account.state.report?.detail], ["needs-login", "the token was revoked"]);
  });

  it("reports each connection once", async () => {
    const { account, clock, connected } = scene(async ({ report, signal }) => {
      report({ state: "connecting" });
      report({ state: "connected" });
      report({ state: "connected", detail: "still" });
      report({ state: "disconnected" });
      report({ state: "connected" });
      await untilStopped({ signal });
    });
    account.start();
    await clock.advance(0);
    assert.deepEqual(connected, ["a", "a"]);
    await account.stop();
  });

  it("takes nothing and reports nothing once its run is over", async () => {
    const runs: ChannelRun[] = [];
    const { account, clock } = scene(async (run) => {
      runs.push(run);
      await untilStopped(run);
    });
    account.start();
    await clock.advance(0);
    const [run] = runs;
    assert.ok(run);
    const message = { chat: { type: "direct", id: "c" }, sender: { id: "s" }, text: "t" } as const;
    assert.deepEqual(await run.receive(message), TAKEN);
    await account.stop();
    run.report({ state: "connected" });
    assert.equal(account.state.lastConnectedAt, undefined);
    await assert.rejects(run.receive(message), { code: "UNAVAILABLE" });
  });

  it("whose run does not end blocks neither its stop nor the next run forever", async () => {
    const { account, clock, warned } = scene(() => new Promise(() => undefined));
    account.start();
    await clock.advance(0);
    const stopped = account.stop();
    await clock.advance(LET_GO_MS);
    await stopped;
    assert.match(String(warned[0]), /has not ended after 3 s/);
    const next = scene(untilStopped);
    next.account.start(account.letGo);
    await next.clock.advance(LET_GO_MS - 1);
    assert.deepEqual(next.started, []);
    await next.clock.advance(1);
    assert.deepEqual(next.started, [LET_GO_MS]);
    await next.account.stop();
  });

  it("starts when the one before has let go, not sooner", async () => {
    const { account, clock, started } = scene(untilStopped);
    let letGo: () => void = () => undefined;
    account.start(new Promise<void>((resolve) => (letGo = resolve)));
    await clock.advance(100);
    assert.deepEqual(started, []);
    letGo();
    await clock.advance(0);
    assert.deepEqual(started, [100]);
    await account.stop();
  });

  it("never reveals its secrets", async () => {
    const { account, clock, warned } = scene(
      async ({ report }) => {
        report({ state: "connecting", detail: "with hunter22" });
        throw new GatewayError("UNAVAILABLE", "login hunter22 refused");
      },
      { password: "hunter22" },
    );
    account.start();
    await clock.advance(10);
    assert.equal(account.state.lastError, "login (hidden) refused");
    assert.doesNotMatch(JSON.stringify([account.state, warned]), /hunter22/);
    await account.stop();
  });
});

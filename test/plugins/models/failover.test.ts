import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { ModelEvent, ProviderAccount, ProviderFailure } from "@svc/sdk/models";
import { Cooldowns } from "../../../plugins/models/asking/cooldown.ts";
import { askInTurn } from "../../../plugins/models/asking/failover.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";

const text = { type: "text", delta: "hi" } as const;
const finish = { type: "finish", reason: "stop" } as const;
const answer = [text, finish];
const fails = (kind: ProviderFailure["kind"], retryAfterMs?: number) =>
  new GatewayError("UNAVAILABLE", `it was ${kind}`, {
    details: { kind },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

type Step = ModelEvent | Error;

/** Accounts with scripted answers, one per request. */
function setup(script: Readonly<Record<string, readonly (readonly Step[])[]>>) {
  const clock = createFakeClock();
  const cooldowns = new Cooldowns(clock);
  const asked: string[] = [];
  const answered: string[] = [];
  const accounts = Object.keys(script).map((name): ProviderAccount => ({ name }));
  async function* ask({ name }: ProviderAccount): AsyncGenerator<ModelEvent> {
    const turn = asked.filter((other) => other === name).length;
    asked.push(name);
    for (const step of script[name]?.[turn] ?? assert.fail(`${name} was asked too often`)) {
      if (step instanceof Error) throw step;
      yield step;
    }
  }
  async function read(signal = new AbortController().signal): Promise<ModelEvent[]> {
    const onAnswer = ({ name }: ProviderAccount) => void answered.push(name);
    const events: ModelEvent[] = [];
    for await (const event of askInTurn(accounts, { cooldowns, clock, signal, ask, onAnswer })) events.push(event);
    return events;
  }
  return { clock, cooldowns, asked, answered, read };
}

describe("several accounts", { timeout: 120_000 }, () => {
  it("are tried in turn until one answers; failed ones cool down", async () => {
    const { read, asked, answered, cooldowns } = setup({
      a: [[fails("rate_limit", 7_000)]],
      b: [[fails("auth")]],
      c: [answer],
    });
    assert.deepEqual(await read(), answer);
    assert.deepEqual([asked, answered], [["a", "b", "c"], ["c"]]);
    assert.deepEqual(
      ["a", "b", "c"].map((name) => cooldowns.failureOf(name)?.kind),
      ["rate_limit", "auth", undefined],
    );
  });

  it("are tried last while they cool down, and first again later", async () => {
    const { read, asked, clock } = setup({ a: [[fails("network")], answer], b: [answer, answer] });
    await read();
    await read();
    await clock.advance(30_000);
    await read();
    assert.deepEqual(asked, ["a", "b", "b", "a"]);
  });

  it("are all tried if all cool down, by the end of their cooldown", async () => {
    const { read, asked, cooldowns } = setup({ a: [[fails("network")]], b: [answer] });
    cooldowns.failed("a", { kind: "network" });
    cooldowns.failed("b", { kind: "auth" });
    assert.deepEqual(await read(), answer);
    assert.deepEqual(asked, ["a", "b"]);
    assert.equal(cooldowns.failureOf("b"), undefined);
  });

  it("fail with the error of the last one", async () => {
    const { read } = setup({ a: [[fails("network")]], b: [[fails("billing")]] });
    await assert.rejects(read(), { message: "it was billing" });
  });

  it("are not tried after a rejected request", async () => {
    const { read, asked, cooldowns } = setup({ a: [[fails("request")]], b: [] });
    await assert.rejects(read(), { message: "it was request" });
    assert.deepEqual([asked, cooldowns.failureOf("a")], [["a"], undefined]);
  });

  it("are not tried after the first piece", async () => {
    const { read, asked, cooldowns } = setup({ a: [[text, fails("network")]], b: [] });
    await assert.rejects(read(), { message: "it was network" });
    assert.deepEqual([asked, cooldowns.failureOf("a")], [["a"], undefined]);
  });

  it("are not tried after a bug of the provider", async () => {
    const { read, asked } = setup({ a: [[new TypeError("bug")]], b: [] });
    await assert.rejects(read(), { message: "bug" });
    assert.deepEqual(asked, ["a"]);
  });
});

describe("a lone account", { timeout: 120_000 }, () => {
  it("gets two retries after temporary errors", async () => {
    const { read, clock, asked, cooldowns } = setup({ a: [[fails("server_error")], [fails("network")], answer] });
    const events = read();
    await clock.advance(499);
    assert.equal(asked.length, 1);
    await clock.advance(1);
    assert.equal(asked.length, 2);
    await clock.advance(1_000);
    assert.deepEqual(await events, answer);
    assert.equal(cooldowns.failureOf("a"), undefined);
  });

  it("cools down once, after the last attempt", async () => {
    const { read, clock, cooldowns } = setup({ a: Array.from({ length: 3 }, () => [fails("server_error")]) });
    const refused = assert.rejects(read(), { message: "it was server_error" });
    await clock.advance(1_500);
    await refused;
    assert.equal(cooldowns.failureOf("a")?.count, 1);
  });

  it("waits as long as the server demands", async () => {
    const { read, clock, asked } = setup({ a: [[fails("rate_limit", 5_000)], answer] });
    const events = read();
    await clock.advance(4_999);
    assert.equal(asked.length, 1);
    await clock.advance(1);
    assert.deepEqual(await events, answer);
  });

  const atOnce: [why: string, error: Error][] = [
    ["a longer wait", fails("rate_limit", 5_001)],
    ["a rate limit without a time", fails("rate_limit")],
    ["a timeout", fails("timeout")],
    ["a wrong key", fails("auth")],
  ];
  for (const [why, error] of atOnce) {
    it(`reports ${why} at once`, async () => {
      const { read, asked, cooldowns } = setup({ a: [[error]] });
      await assert.rejects(read(), error);
      assert.equal(asked.length, 1);
      assert.notEqual(cooldowns.until("a"), undefined);
    });
  }

  it("is not retried after an abort during the wait, and no timer remains", async () => {
    const { read, clock, asked } = setup({ a: [[fails("network")]] });
    const abort = new AbortController();
    const refused = assert.rejects(read(abort.signal), { message: "stop it" });
    await clock.advance(100);
    abort.abort(new Error("stop it"));
    await refused;
    assert.deepEqual([asked.length, clock.pending], [1, 0]);
  });
});

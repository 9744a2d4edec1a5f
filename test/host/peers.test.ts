/** What gateways on one state share, and how they call each other. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { GatewayError } from "@svc/sdk";
import { HostPeers } from "../../host/peers.ts";

/** Gateways `g0`, `g1`, ..., and the notes between them. */
function bus(count: number) {
  const all: HostPeers[] = [];
  const warned: object[] = [];
  let isLosing = false;
  const send = (text: string) => {
    if (!isLosing) for (const peers of all) peers.heard(text);
  };
  for (let index = 0; index < count; index += 1)
    all.push(new HostPeers({ send, log: { warn: (fields) => void warned.push(fields) } }));
  const names = (without: readonly number[] = []) =>
    new Set(all.map((_, index) => `g${index}`).filter((_, index) => !without.includes(index)));
  const meet = (without: readonly number[] = []) => {
    for (const [index, peers] of all.entries())
      if (!without.includes(index)) peers.members(`g${index}`, names(without));
  };
  meet();
  return { all, meet, warned, lose: (is: boolean) => (isLosing = is) };
}

const two = () => {
  const { all, ...rest } = bus(2);
  const [one, other] = all as [HostPeers, HostPeers];
  return { one, other, ...rest };
};

describe("facts", () => {
  it("are known to the others, by topic, until they change or their gateway ends", () => {
    const { one, other, meet } = two();
    let told = 0;
    const unfollow = other.follow("a/topic", () => (told += 1));
    one.share("a/topic", "k", { v: 1 });
    one.share("b/topic", "k", 2);
    assert.deepEqual(other.shared("a/topic"), [{ gateway: "g0", key: "k", value: { v: 1 } }]);
    assert.deepEqual([one.shared("a/topic"), told], [[], 1]);
    one.share("a/topic", "k", undefined);
    one.share("a/topic", "never shared", undefined);
    assert.deepEqual([other.shared("a/topic"), told], [[], 2]);
    unfollow();
    one.share("a/topic", "k", null);
    assert.equal(told, 2);
    meet([0]);
    assert.deepEqual(other.shared("b/topic"), []);
  });

  it("from before a gateway came, and from while notes were lost, are known after a restart", () => {
    const { all, lose } = bus(3);
    const [one, other, third] = all as [HostPeers, HostPeers, HostPeers];
    lose(true);
    one.share("t", "gone", 1);
    other.share("t", "k", 2);
    lose(false);
    assert.deepEqual(third.shared("t"), []);
    third.restart();
    assert.deepEqual(
      third.shared("t").map(({ gateway, key }) => [gateway, key]),
      [
        ["g0", "gone"],
        ["g1", "k"],
      ],
    );
    lose(true);
    one.share("t", "gone", undefined);
    lose(false);
    one.restart();
    assert.deepEqual(
      third.shared("t").map(({ key }) => key),
      ["k"],
    );
  });

  it("are shared under the new name of a gateway that has lost its lease", () => {
    const { one, other } = two();
    one.share("t", "k", 1);
    one.members(undefined, new Set());
    one.share("t", "unheard", 2);
    assert.equal(other.shared("t").length, 1);
    one.members("g0-again", new Set(["g0-again", "g1"]));
    other.members("g1", new Set(["g0-again", "g1"]));
    assert.deepEqual(
      other.shared("t").map(({ gateway, key }) => [gateway, key]),
      [
        ["g0-again", "k"],
        ["g0-again", "unheard"],
      ],
    );
  });

  it("of a gateway that nobody has seen yet stay until it is missed twice", () => {
    const { one, other } = two();
    one.members("new", new Set());
    one.share("t", "k", 1);
    const seen = new Set(["g1"]);
    other.members("g1", seen);
    assert.equal(other.shared("t").length, 1);
    other.members("g1", seen);
    assert.equal(other.shared("t").length, 0);
  });
});

describe("a call of another gateway", () => {
  it("is answered by its handler, while there is one", async () => {
    const { one, other } = two();
    const unanswer = other.answer("a/double", (params) => Number(params) * 2);
    assert.equal(await one.ask("g1", "a/double", 2), 4);
    assert.equal(await one.ask("g1", "a/double", 3), 6);
    unanswer();
    await assert.rejects(one.ask("g1", "a/double", 2), { code: "UNAVAILABLE", message: /does not run there/ });
  });

  it("fails with the error of the handler", async () => {
    const { one, other } = two();
    other.answer("a/refuse", () => {
      throw new GatewayError("CONFLICT", "no", { details: { code: "X" }, retryAfterMs: 5 });
    });
    await assert.rejects(one.ask("g1", "a/refuse", {}), {
      code: "CONFLICT",
      message: "no",
      details: { code: "X" },
      retryAfterMs: 5,
    });
    other.answer("a/refuse", () => Promise.reject(new Error("secret")));
    await assert.rejects(one.ask("g1", "a/refuse", {}), (error: GatewayError) => {
      assert.equal(error.code, "INTERNAL");
      return !error.message.includes("secret");
    });
  });

  it("ends when the gateway is gone, in time, or with its caller; the handler is told", async (t) => {
    const running = setInterval(() => undefined, 1_000); // a call alone does not keep a process alive
    t.after(() => clearInterval(running));
    const { one, other, meet } = two();
    const ended: string[] = [];
    other.answer("a/wait", (params, signal) => {
      signal.addEventListener("abort", () => ended.push(String(params)));
      return new Promise(() => {});
    });
    await assert.rejects(one.ask("g9", "a/wait", {}), /has ended/);
    await assert.rejects(one.ask("g1", "a/wait", "late", { timeoutMs: 5 }), /did not answer in time/);
    const leaving = new AbortController();
    const left = assert.rejects(one.ask("g1", "a/wait", "left", { signal: leaving.signal }), /no longer waits/);
    leaving.abort();
    await left;
    assert.deepEqual(ended, ["late", "left"]);
    const gone = assert.rejects(one.ask("g1", "a/wait", {}), /has ended/);
    await pause(1);
    meet([1]);
    await gone;
  });

  it("may be for all, without an answer; a handler that fails is logged", async () => {
    const { all, warned } = bus(3);
    const heard: string[] = [];
    for (const [index, peers] of all.entries())
      peers.answer("a/news", (params) => void heard.push(`${index} ${String(params)}`));
    all[1]?.tell("a/news", "x");
    assert.deepEqual(heard.toSorted(), ["0 x", "2 x"]);
    all[0]?.answer("a/news", () => Promise.reject(new Error("broken")));
    all[1]?.tell("a/news", "y");
    all[1]?.tell("nobody/answers", "z");
    await pause(1);
    assert.ok(warned.length > 0);
  });

  it("reaches nobody from a gateway that is alone", async () => {
    const sent: string[] = [];
    const alone = new HostPeers({ send: (text) => void sent.push(text), log: { warn: () => undefined } });
    alone.share("t", "k", 1);
    alone.tell("a/news", 1);
    await assert.rejects(alone.ask("g1", "a", 1), { code: "UNAVAILABLE" });
    assert.deepEqual([sent, alone.self, alone.shared("t")], [[], undefined, []]);
  });
});

/** Outgoing texts, with storage and network failing in every way. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Contribution, GatewayError, invalidRequest, unavailable } from "@svc/sdk";
import type { Channel } from "@svc/sdk/channels";
import { wrapExternalContent } from "@svc/sdk/external-content";
import { createFakeClock } from "@svc/sdk/testing";
import { OpenStorage } from "../../../plugins/channels/open-storage.ts";
import { GIVE_UP_MS, Outbox } from "../../../plugins/channels/outbox/outbox.ts";
import { OutboxStore } from "../../../plugins/channels/outbox/outbox-store.ts";
import { onlyOwner } from "../only-owner.ts";
import { type Fault, memoryStorage } from "./memory-storage.ts";

await import("../../../plugins/channels/outbox/markup.ts"); // loaded on first use, which takes no ticks of the test clock

const PIECES = ["the first part is this.", "the second part is that.", "the third part ends it."];
const TEXT = { id: "1", channel: "pigeon", accountId: "a", to: "ann", text: PIECES.join(" "), maxChars: 25 };
const HOUR_MS = 3_600_000;

const away = () => new GatewayError("UNAVAILABLE", "the disk is full", { retryAfterMs: 10_000 });
const broken = () => new Error("the database is damaged");
const conflict = () => new GatewayError("CONFLICT", "changed meanwhile");

/** An outbox on a storage that outlives it. */
function scene({ memory = memoryStorage(), clock = createFakeClock() } = {}) {
  const taken: string[] = [];
  const lines: string[] = [];
  const stopping = new AbortController();
  const network = {
    asked: 0,
    /** Called before a piece is accepted; throws to refuse it. */
    decide: (_piece: string): void | Promise<void> => undefined,
    refuseMirror: undefined as (() => Error) | undefined,
    /** The plugin of the channel is being replaced. */
    isAbsent: false,
    isLoading: false,
  };
  const channel = {
    capabilities: { chats: ["direct"], maxTextChars: 25 },
    accounts: [{ id: "a", settings: {} }],
    async send({ text }: { text: string }) {
      network.asked += 1;
      await network.decide(text);
      taken.push(text);
    },
  } as unknown as Channel;
  const contribution: Contribution<Channel> = { id: "pigeon", plugin: "pigeon", value: channel };
  const store = new OutboxStore(new OpenStorage(memory.storage), { holds: () => onlyOwner().holds("") });
  const log = (_fields: object, line: string) => void lines.push(line);
  const outbox = new Outbox({
    store,
    media: { find: async () => undefined },
    accounts: {
      channel: () => (network.isAbsent ? undefined : contribution),
      isLoading: () => network.isLoading,
      absence: () => undefined,
      account: () => ({ contribution, account: { id: "a", settings: {} }, run: undefined }),
      call: (one, work) => work(one.value),
    },
    owned: { has: () => true, take: async () => true, nudge: async () => undefined },
    async mirror(_session, _message, alongside) {
      if (network.refuseMirror) throw network.refuseMirror();
      await store.write(alongside);
    },
    clock,
    log: { info: log, warn: log },
    random: () => 0.5,
    signal: stopping.signal,
  });
  return { memory, clock, taken, lines, network, outbox, pass: clock.advance, stopping, row: () => store.find("1") };
}

/** Adds the text, even if storage is unavailable at first. */
async function adds({ outbox, pass }: ReturnType<typeof scene>, text = TEXT) {
  for (let turn = 0; turn < 5; turn++) {
    try {
      return await outbox.add(text);
    } catch {
      await pass(1_000);
    }
  }
}

describe("a text goes out once", () => {
  const faults: readonly (readonly [name: string, fault: Fault])[] = [
    ["away", { when: "before", error: away }],
    ["away, with the write done", { when: "after", error: away }],
    ["broken", { when: "before", error: broken }],
    ["broken, with the write done", { when: "after", error: broken }],
    ["in conflict", { when: "before", error: conflict }],
    ["in conflict, with the write done", { when: "after", error: conflict }],
  ];
  const refusals: readonly (readonly [name: string, refused: number | undefined])[] = [
    ["", undefined],
    [", while the network refuses the second piece once", 1],
  ];
  for (const [name, fault] of faults)
    for (const [beside, refused] of refusals)
      for (const times of [1, 3, Infinity])
        it(`though storage is ${name} ${times} times from any write on${beside}`, async () => {
          for (let first = 2, more = true; more; first++) {
            const one = scene();
            const { memory, taken, network, outbox, pass } = one;
            let left = refused === undefined ? 0 : 1;
            network.decide = (piece) => {
              if (piece === PIECES[refused ?? -1] && left-- > 0) unavailable("the network is busy");
            };
            memory.fault = (write) => (write >= first && write < first + times ? fault : undefined);
            await adds(one);
            await pass(2 * HOUR_MS);
            more = memory.writes >= first;
            const where = `from write ${first} on`;
            assert.deepEqual(taken, PIECES.slice(0, taken.length), where);
            memory.fault = () => undefined;
            await pass(60_000);
            await outbox.recover();
            await pass(60_000);
            assert.deepEqual(taken, PIECES.slice(0, taken.length), `${where}, after storage is back`);
            assert.equal(outbox.waiting("pigeon", "a"), 0, where);
            const row = await one.row();
            assert.equal(row?.status, taken.length === PIECES.length ? "sent" : "failed", where);
            assert.equal(row?.sent, taken.length, where);
            if (row?.status === "failed")
              assert.match(String(row.reason), /^(storage cannot record it|the network is busy).*of 3 parts/);
            if (times === 1) assert.equal(row?.status, "sent", where);
          }
        });

  it("except for the piece in flight when the process is killed", async () => {
    for (let killed = 2, more = true; more; killed++) {
      for (const when of ["before", "after"] as const) {
        const first = scene();
        // A killed process gets no result of a write.
        first.memory.fault = (write) =>
          write < killed ? undefined : { when: write === killed ? when : "before", error: away };
        await first.outbox.add(TEXT);
        await first.clock.advance(100);
        more = first.memory.writes >= killed;
        first.stopping.abort();
        const second = scene({ memory: memoryStorage(first.memory.database) });
        await second.outbox.recover();
        await second.pass(60_000);
        const all = [...first.taken, ...second.taken];
        const repeated = all.length - new Set(all).size;
        assert.ok(repeated <= 1, `${repeated} pieces twice`);
        if (repeated === 1) assert.equal(first.taken.at(-1), second.taken[0]);
        assert.deepEqual([...new Set(all)], PIECES);
        assert.equal((await second.row())?.status, "sent");
      }
    }
  });
});

describe("a text ends", () => {
  it("as failed with its reason, each attempt counted, when the network takes nothing for an hour", async () => {
    const one = scene();
    one.network.decide = () => unavailable("the network is away");
    const ended = one.outbox.ended("1", 3 * HOUR_MS);
    await one.outbox.add(TEXT);
    await one.pass(GIVE_UP_MS - 60_000);
    assert.equal((await one.row())?.status, "waiting");
    await one.pass(600_000);
    const row = await one.row();
    assert.deepEqual([row?.status, row?.reason], ["failed", "the network is away"]);
    assert.equal(row?.attempts, one.network.asked);
    assert.equal((await ended)?.reason, "the network is away");
    const lines = one.lines.filter((line) => line.includes("giving up"));
    assert.deepEqual(lines, ["a text could not be sent; giving up"]);
    assert.equal(one.outbox.waiting("pigeon", "a"), 0);
  });

  it("without the markers of text from outside that a model repeated", async () => {
    const one = scene();
    const text = wrapExternalContent("hello", { source: "external" });
    await one.outbox.add({ ...TEXT, text: `I was sent this:\n${text}\nand <<<no marker>>>.`, maxChars: 5_000 });
    await one.clock.advance(1);
    assert.equal(one.taken.length, 1);
    assert.doesNotMatch(one.taken[0] ?? "", /EXTERNAL_UNTRUSTED/);
    assert.match(one.taken[0] ?? "", /hello\nand <<<no marker>>>\.$/);
  });

  it("never as sent while its channel is not loaded", async () => {
    const one = scene();
    one.network.decide = (piece) => {
      if (piece !== PIECES[0]) unavailable("the network is away");
    };
    await one.outbox.add({ ...TEXT, extras: { buttons: [[{ label: "Yes", value: "yes" }]] } });
    await one.clock.advance(1);
    one.network.isAbsent = true;
    await one.pass(120_000);
    const row = await one.row();
    assert.deepEqual([row?.status, row?.sent], ["waiting", 1]);
    assert.match(row?.reason ?? "", /channel pigeon is not loaded/);
    one.network.isAbsent = false;
    one.network.decide = () => undefined;
    await one.pass(120_000);
    assert.deepEqual([(await one.row())?.status, one.taken], ["sent", PIECES]);
  });

  it("after an hour of attempts: the time before the start does not count", async () => {
    const one = scene();
    one.network.decide = () => unavailable("the network is away");
    await one.outbox.add(TEXT);
    one.stopping.abort();
    await one.outbox.stop();
    await one.clock.advance(2 * HOUR_MS);
    const next = scene(one);
    next.network.decide = () => unavailable("the network is away");
    await next.outbox.recover();
    await next.pass(60_000);
    assert.equal((await next.row())?.status, "waiting");
    next.network.decide = () => undefined;
    await next.pass(600_000);
    assert.equal((await next.row())?.status, "sent");
  });

  it("not when a network refuses the login: the text waits for a new one", async () => {
    const one = scene();
    one.network.decide = () => {
      throw new GatewayError("NOT_LINKED", "the token was revoked");
    };
    await one.outbox.add(TEXT);
    await one.pass(60_000);
    assert.deepEqual([(await one.row())?.status, (await one.row())?.reason], ["waiting", "the token was revoked"]);
  });

  it("at once when the network will never take it, with the parts that it has taken", async () => {
    const one = scene();
    one.network.decide = (piece) => {
      if (piece !== PIECES[0]) invalidRequest("ann has left");
    };
    await one.outbox.add(TEXT);
    await one.clock.advance(1);
    const row = await one.row();
    assert.deepEqual([row?.status, row?.reason, row?.attempts], ["failed", "ann has left (1 of 3 parts were sent)", 1]);
  });

  it("as sent when its session refuses to note it", async () => {
    for (const error of [broken, conflict]) {
      const one = scene();
      one.network.refuseMirror = error;
      await one.outbox.add({ ...TEXT, mirrorKey: "agent:main:main" });
      await one.pass(2 * HOUR_MS);
      assert.deepEqual(one.taken, PIECES);
      assert.equal((await one.row())?.status, "sent");
      assert.deepEqual(one.lines, ["a text was sent, but its session could not record it"]);
    }
  });

  it("where another gateway ended it, or deleted its record", async () => {
    const rows = [
      ["UPDATE channel_outbox SET status = 'failed', reason = 'deleted by hand', ended_at = 1", "deleted by hand"],
      ["DELETE FROM channel_outbox", "its record was deleted"],
    ] as const;
    for (const [sql, reason] of rows) {
      const one = scene();
      one.network.decide = () => one.memory.database.exec(sql);
      const ended = one.outbox.ended("1", HOUR_MS);
      await one.outbox.add(TEXT);
      await one.pass(2 * HOUR_MS);
      assert.deepEqual(one.taken, PIECES.slice(0, 1));
      assert.equal((await ended)?.reason, reason);
      assert.equal(one.outbox.waiting("pigeon", "a"), 0);
    }
  });

  it("for who asks, at the first attempt, unless the channel is loading and was not asked", async () => {
    const one = scene();
    one.network.isAbsent = true;
    one.network.isLoading = true;
    await one.outbox.add({ ...TEXT, once: true } as typeof TEXT);
    await one.clock.advance(500);
    assert.equal((await one.row())?.status, "waiting");
    one.network.isAbsent = false;
    await one.pass(5_000);
    assert.deepEqual(one.taken, PIECES);
    assert.equal((await one.row())?.status, "sent");

    one.network.isAbsent = true;
    one.network.isLoading = false;
    await one.outbox.add({ ...TEXT, id: "2", once: true } as typeof TEXT);
    await one.clock.advance(1);
    assert.match((await one.outbox.ended("2", 1))?.reason ?? "", /^channel pigeon is not loaded/);
  });

  it("for who asks, also while storage refuses to record it", async () => {
    const one = scene();
    await one.outbox.add({ ...TEXT, once: true } as typeof TEXT);
    one.memory.fault = () => ({ when: "before", error: broken });
    await one.pass(60_000);
    assert.equal((await one.row())?.status, "waiting");
    const ended = await one.outbox.ended("1", 1);
    assert.match(String(ended?.reason), /storage cannot record it: the database is damaged \(1 of 3 parts were sent\)/);
    await one.outbox.recover();
    one.memory.fault = () => undefined;
    await one.outbox.recover();
    assert.deepEqual(one.taken, PIECES.slice(0, 1));
    assert.equal((await one.row())?.status, "failed");
  });
});

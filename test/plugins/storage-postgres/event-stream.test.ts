/** Events of several gateways through a real server: one order for all, nothing lost or doubled unless the gateways are told. */
// own process: it kills servers
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { Client } from "pg";
import type { BackplaneEnd, Carrier, SharedEvent, SharedPlace } from "@svc/sdk/gateway";
import { EventStream } from "../../../plugins/storage-postgres/event-stream.ts";
import { emptySchema, startPostgres } from "../../postgres.ts";
import { until } from "../../until.ts";
import { openPostgres, withoutPostgres } from "./open-postgres.ts";

interface GatewayOptions {
  readonly url: string;
  /** Number of its last event before it joins. */
  readonly seq?: number;
}

/** With what the declarations lack. */
type EventClient = Client & { readonly processID: number; readonly connection: { readonly stream: Socket } };

/** A gateway that notes what its stream reports. */
async function gateway(t: TestContext, { url, seq = 0 }: GatewayOptions) {
  const { storage, forEvents } = await openPostgres(t, url);
  const seen: SharedEvent[] = [];
  const told: string[] = [];
  const counts = { unsent: 0, own: 0 };
  let carrier: Carrier | undefined;
  let joined: SharedPlace | undefined;
  let isCutOff = false;
  let client: EventClient | undefined;
  const backend = () => client?.processID ?? 0;
  const note =
    (what: string) =>
    ({ epoch, n }: SharedPlace) =>
      void told.push(`${what} ${epoch.split(".")[1]} ${n}`);
  const end: BackplaneEnd = {
    deliver(events) {
      seen.push(...events);
      counts.own += events.filter(({ isOwn }) => isOwn).length;
    },
    unsent: (count) => void (counts.unsent += count),
    renew: note("renew"),
    missed: note("missed"),
    members: () => undefined,
    leave: () => void told.push("left"),
  };
  const stream = new EventStream({
    connect: async (lost) => {
      if (isCutOff) throw new Error("cut off");
      return (client = (await forEvents(lost)) as EventClient);
    },
    backplane: {
      seq,
      join(given, place) {
        [carrier, joined] = [given, place];
        return end;
      },
    },
    log: { info: () => undefined, warn: () => undefined },
  });
  await stream.open();
  t.after(() => stream.close());
  return {
    storage,
    stream,
    seen,
    told,
    counts,
    place: joined as unknown as SharedPlace, // `open` has joined
    texts: () => seen.map(({ text }) => text),
    send: (text: string, isNumbered = true) => carrier?.send({ text, isNumbered }),
    backend,
    /** The server does not notice it. */
    breakConnection: () => client?.connection.stream.destroy(),
    /** Ends its connection; it gets none until it is allowed. */
    async cutOff() {
      isCutOff = true;
      await storage.get("SELECT pg_terminate_backend(?) AS done", [backend()]);
      return () => (isCutOff = false);
    },
  };
}

type TestGateway = Awaited<ReturnType<typeof gateway>>;

async function gateways(t: TestContext, count: number, url?: string) {
  const shared = url ?? (await emptySchema());
  const all: TestGateway[] = [];
  for (let left = count; left > 0; left -= 1) all.push(await gateway(t, { url: shared }));
  return all;
}

const delivered = (all: readonly TestGateway[], count: number) =>
  until(() => all.every(({ seen }) => seen.length >= count), `${count} events at ${all.length} gateways`);

/** The last numbers before a crash may be lost, so that a leap seems smaller. */
const MOST_LOST = 900_000;

/** Positions rise, and within an epoch none is left out; the same holds for the numbers that clients see. */
function assertOrdered(events: readonly SharedEvent[]) {
  for (const [index, { n }] of events.entries()) {
    const step = n - (events[index - 1]?.n ?? n - 1);
    assert.ok(step === 1 || step > MOST_LOST, `${n} comes after a step of ${step}`);
  }
  const numbers = events.flatMap(({ seq }) => seq ?? []);
  for (const [index, number] of numbers.entries()) {
    const step = number - (numbers[index - 1] ?? number - 1);
    assert.ok(step === 1 || step > MOST_LOST, `number ${number} comes after a step of ${step}`);
  }
}

describe("events of three gateways", { skip: withoutPostgres() }, () => {
  it("come to all of them in one order, each once, with one number", async (t) => {
    const all = await gateways(t, 3);
    const each = 400;
    for (let round = 0; round < each; round += 1) {
      for (const [index, { send }] of all.entries()) send(`${index}/${round}`, round % 3 !== 0);
      if (round % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await delivered(all, 3 * each);
    const [first] = all as [TestGateway];
    assertOrdered(first.seen);
    for (const [index, { seen, texts, counts }] of all.entries()) {
      assert.deepEqual(
        seen.map(({ n, seq, text }) => [n, seq, text]),
        first.seen.map(({ n, seq, text }) => [n, seq, text]),
      );
      assert.deepEqual(
        seen.filter(({ isOwn }) => isOwn).map(({ text }) => text),
        Array.from({ length: each }, (_, round) => `${index}/${round}`),
      );
      assert.equal(counts.own, each);
      assert.equal(new Set(texts()).size, 3 * each);
    }
    assert.ok(first.seen.every(({ text, seq }) => (seq === undefined) === (Number(text.split("/")[1]) % 3 === 0)));
  });

  it("may be larger than a notification", async (t) => {
    const all = await gateways(t, 2);
    const [one] = all as [TestGateway];
    const sizes = [7_000, 8_000, 3_000_000, 5_000, 5_000, 2_000_000, 100];
    for (const size of sizes) one.send("ä\n\"'".repeat(size / 4));
    await delivered(all, sizes.length);
    for (const { seen } of all)
      assert.deepEqual(
        seen.map(({ text }) => text.length),
        sizes,
      );
  });

  it("survive lost connections: nothing is lost or doubled, and nobody is told anything", async (t) => {
    const all = await gateways(t, 3);
    let sent = 0;
    for (let round = 0; round < 4; round += 1) {
      for (let part = 0; part < 30; part += 1) {
        for (const { send } of all) send(`${(sent += 1)}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
        if (part === 15) (await all[round % 3]?.cutOff())?.();
      }
      await delivered(all, sent);
    }
    for (const { seen, texts, told, counts } of all) {
      assertOrdered(seen);
      assert.deepEqual([seen.length, new Set(texts()).size, told, counts.unsent], [sent, sent, [], 0]);
    }
  });

  it("whose connection is lost while they are being sent come once, although the server goes on with them", async (t) => {
    const url = await emptySchema();
    const [one, two] = (await gateways(t, 2, url)) as [TestGateway, TestGateway];
    const holder = await (await openPostgres(t, url)).forEvents(() => undefined);
    t.after(() => holder.end());
    await holder.query("BEGIN; SELECT 1 FROM svc_stream FOR UPDATE");
    one.send("a");
    const waits = "SELECT 1 AS one FROM pg_stat_activity WHERE pid = ? AND wait_event_type = 'Lock'";
    await until(async () => (await two.storage.get(waits, [one.backend()])) !== undefined, "the lock");
    one.breakConnection();
    one.send("b");
    await new Promise((resolve) => setTimeout(resolve, 1_500)); // it connects again meanwhile
    await holder.query("COMMIT");
    await delivered([one, two], 2);
    for (const { texts } of [one, two]) assert.deepEqual(texts(), ["a", "b"]);
  });

  it("that a gateway has missed, because they were deleted before it came back, make its clients connect again", async (t) => {
    const all = await gateways(t, 2);
    const [one, two] = all as [TestGateway, TestGateway];
    one.send("before");
    await delivered(all, 1);
    const allow = await two.cutOff();
    for (const text of ["a", "b", "c"]) one.send(text);
    await delivered([one], 4);
    await one.storage.transaction([{ sql: "DELETE FROM svc_ring WHERE n < 3" }]);
    allow();
    await delivered([two], 3);
    assert.deepEqual([two.texts(), two.told], [["before", "b", "c"], ["missed 1 2"]]);
    assert.deepEqual(one.told, []);
  });

  it("of another schema of the server do not arrive", async (t) => {
    const [one, other] = [
      await gateway(t, { url: await emptySchema() }),
      await gateway(t, { url: await emptySchema() }),
    ];
    one.send("mine");
    other.send("yours");
    await delivered([one, other], 1);
    assert.deepEqual([one.texts(), other.texts()], [["mine"], ["yours"]]);
  });
});

describe("a gateway that starts", { skip: withoutPostgres() }, () => {
  it("knows the latest events, and numbers go on above those that its clients have seen", async (t) => {
    const url = await emptySchema();
    const one = await gateway(t, { url });
    for (let round = 0; round < 1_200; round += 1) one.send(String(round));
    await delivered([one], 1_200);
    const two = await gateway(t, { url, seq: 5_000 });
    const { n, epoch, history } = two.place;
    assert.deepEqual([n, epoch === one.place.epoch, history.length], [1_200, true, 1_000]);
    assert.deepEqual([history[0]?.text, history.at(-1)?.text], ["200", "1199"]);
    two.send("next");
    await delivered([two], 1);
    assert.equal(two.seen[0]?.seq, 5_001);
  });

  it("sends what waits before it stops, and says that it has left", async (t) => {
    const all = await gateways(t, 2);
    const [one, two] = all as [TestGateway, TestGateway];
    for (let round = 0; round < 50; round += 1) one.send(String(round));
    await one.stream.close();
    await delivered([two], 50);
    assert.deepEqual(one.told, ["left"]);
  });
});

describe("a server", { skip: withoutPostgres() }, () => {
  it("that is killed again and again: numbers rise, gateways are told, and what was sent comes back once", async (t) => {
    const server = await startPostgres(t);
    const all = await gateways(t, 2, server.url);
    let sent = 0;
    const sending = setInterval(() => {
      sent += 1;
      for (const [index, { send }] of all.entries()) send(`${index}/${sent}`);
    }, 5);
    t.after(() => clearInterval(sending));
    for (let round = 1; round <= 3; round += 1) {
      const before = all.map(({ seen }) => seen.length);
      await until(() => all.every(({ seen }, index) => seen.length > (before[index] ?? 0) + 50));
      await server.kill();
      await server.start();
    }
    await until(() => all.every(({ told }) => told.length >= 3));
    clearInterval(sending);
    await until(() => all.every(({ counts }) => counts.own + counts.unsent === sent), "all texts to come back");
    for (const { seen, told } of all) {
      assertOrdered(seen);
      assert.deepEqual(
        told.map((line) => line.split(" ").slice(0, 2).join(" ")),
        ["renew 2", "renew 3", "renew 4"],
      );
    }
    const last = all.map(({ seen }) => seen.at(-1)?.n);
    assert.equal(last[0], last[1]);
  });

  it("that is away for longer than texts wait: they are given back, and all gateways are told", async (t) => {
    const all = await gateways(t, 2);
    const [one, two] = all as [TestGateway, TestGateway];
    const allow = await one.cutOff();
    for (const text of ["a", "b"]) one.send(text);
    await until(() => one.counts.unsent === 2, "the texts");
    one.send("c");
    assert.equal(one.counts.unsent, 3, "nothing waits any more");
    allow();
    await until(() => one.told.length === 1, "the next epoch");
    two.send("d");
    one.send("e");
    await delivered([one, two], 2);
    for (const { told, texts, seen } of all) {
      assert.deepEqual([told.length, told[0]?.startsWith("renew 2 "), texts().toSorted()], [1, true, ["d", "e"]]);
      assertOrdered(seen);
      assert.ok((seen[0]?.seq ?? 0) > 1_000_000);
    }
  });
});

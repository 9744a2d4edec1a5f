/** Events of several gateways: places, numbers and cursors come from the backplane, and each gateway delivers all events in the same order. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineEvent, type EventSpec, Type } from "@svc/sdk";
import type { BackplaneEnd, SharedText } from "@svc/sdk/gateway";
import { OLDEST } from "@svc/sdk/protocol";
import { Broadcaster, type Receiver } from "../../../host/net/ws/broadcast.ts";

const event = defineEvent({ name: "demo", summary: "-", payload: Type.Unknown() });
const guarded = defineEvent({ name: "guarded", summary: "-", payload: Type.Unknown(), scope: "operator.pairing" });
const local: EventSpec = { ...event, name: "here", local: true };
const START = { epoch: "e.1", n: 100, history: [] };

interface Seen {
  readonly event: string;
  readonly payload: unknown;
  readonly seq?: number;
  readonly cursor?: { readonly epoch: string; readonly n: number };
}

interface ClientOptions {
  readonly scopes?: readonly string[];
  readonly resumes?: boolean;
  readonly after?: number;
}

/** Two gateways, and a carrier that numbers texts when `pass` is called. */
function scene() {
  const ends: BackplaneEnd[] = [];
  const queued: { readonly from: number; readonly text: SharedText }[] = [];
  let { n } = START;
  let seq = 40;
  const heard: string[] = [];
  let missed = 0;
  const gateways = [0, 1].map((from) => {
    const broadcaster = new Broadcaster({
      heard: (name, text, isTargeted) => void heard.push(`${from} ${name} ${text} ${isTargeted}`),
      missed: () => (missed += 1),
    });
    ends[from] = broadcaster.join({ send: (text) => queued.push({ from, text }) }, START);
    return broadcaster;
  });
  const [one, two] = gateways as [Broadcaster, Broadcaster];
  const [first, second] = ends as [BackplaneEnd, BackplaneEnd];
  function pass(to: readonly number[] = [0, 1]) {
    for (const { from, text } of queued.splice(0)) {
      n += 1;
      if (text.isNumbered) seq += 1;
      const at = { n, seq: text.isNumbered ? seq : undefined, text: text.text };
      for (const gateway of to) ends[gateway]?.deliver([{ ...at, isOwn: gateway === from }]);
    }
  }
  return { one, two, first, second, pass, queued, heard, missed: () => missed };
}

function client(broadcaster: Broadcaster, { scopes = [], resumes = false, after }: ClientOptions = {}) {
  const seen: Seen[] = [];
  const id = broadcaster.connectionId();
  const receiver: Receiver = {
    id,
    role: "operator",
    scopes,
    generation: OLDEST,
    resumes,
    deliver: (frame) => void seen.push(JSON.parse(String(frame).slice(String(frame).indexOf("{"))) as Seen),
  };
  broadcaster.add(receiver, after);
  return { id, seen, receiver, payloads: () => seen.map(({ payload }) => payload) };
}

describe("events of two gateways", () => {
  it("reach the clients of both in one order with one number; those for a scope have none", () => {
    const { one, two, pass } = scene();
    const clients = [client(one), client(two), client(two, { scopes: ["operator.pairing"], resumes: true })];
    one.publish(event, 1);
    two.publish(guarded, 2);
    one.publish(event, 3);
    assert.deepEqual(clients[0]?.seen, [], "nothing comes before its place is known");
    pass();
    const numbered = (payload: number, number: number) => ({ type: "event", event: "demo", payload, seq: number });
    assert.deepEqual(clients[0]?.seen, [numbered(1, 41), numbered(3, 42)]);
    assert.deepEqual(clients[1]?.seen, clients[0]?.seen);
    const cursor = (n: number) => ({ cursor: { epoch: "e.1", n } });
    assert.deepEqual(clients[2]?.seen, [
      { ...numbered(1, 41), ...cursor(101) },
      { type: "event", event: "guarded", payload: 2, ...cursor(102) },
      { ...numbered(3, 42), ...cursor(103) },
    ]);
  });

  it("stay in their gateway, without number and cursor, if they are about the gateway", () => {
    const { one, two, queued } = scene();
    const [here, there] = [client(one, { resumes: true }), client(two)];
    one.publish(local, 1);
    assert.deepEqual(here.seen, [{ type: "event", event: "here", payload: 1 }]);
    assert.deepEqual([there.seen.length, queued.length], [0, 0]);
  });

  it("for named connections reach those of other gateways, and keep their place among the others", () => {
    const { one, two, pass, queued } = scene();
    const [here, there] = [client(one), client(two)];
    one.publish(event, "at once", { connections: [here.id] });
    assert.deepEqual([here.payloads(), queued.length], [["at once"], 0]);
    one.publish(event, "both");
    one.publish(event, "named here", { connections: [here.id] });
    one.publish(event, "named", { connections: [here.id, there.id] });
    one.publish(event, "last", { connections: [here.id] });
    assert.deepEqual(here.payloads(), ["at once"]);
    pass();
    assert.deepEqual(here.payloads(), ["at once", "both", "named here", "named", "last"]);
    assert.deepEqual(there.payloads(), ["both", "named"]);
    assert.equal(there.seen[1]?.seq, undefined);
    one.remove(here.receiver);
    one.publish(event, "gone", { connections: [here.id] });
    assert.equal(queued.length, 0, "a connection that has closed is nobody's at other gateways");
  });

  it("are passed to plugins of the other gateway, which know that they are not of their own", () => {
    const { one, two, pass, heard } = scene();
    const there = client(two);
    one.publish(event, { a: 1 });
    one.publish(event, undefined, { connections: [there.id] });
    pass();
    assert.deepEqual(heard, ['1 demo {"a":1} false', "1 demo undefined true"]);
  });

  it("that could not be sent reach the clients of their gateway, in order, without a place", () => {
    const { one, two, first, queued } = scene();
    const [here, there] = [client(one, { resumes: true }), client(two)];
    for (const payload of [1, 2]) one.publish(event, payload);
    one.publish(event, "named", { connections: [here.id] });
    queued.length = 0;
    first.unsent(2);
    assert.deepEqual(
      here.seen.map(({ payload, seq, cursor }) => [payload, seq, cursor]),
      [1, 2, "named"].map((payload) => [payload, undefined, undefined]),
    );
    assert.deepEqual(there.seen, []);
  });

  it("are delivered when the carrier leaves, and afterwards at once and without numbers", () => {
    const { one, first } = scene();
    const here = client(one);
    one.publish(event, 1);
    first.leave();
    one.publish(event, 2);
    assert.deepEqual(here.payloads(), [1, 2]);
    assert.ok(here.seen.every(({ seq }) => seq === undefined));
  });
});

describe("a client that has lost its socket", () => {
  it("gets what it missed from another gateway", () => {
    const { one, two, pass } = scene();
    const before = client(one, { resumes: true });
    one.publish(event, 1);
    pass();
    for (const payload of [2, 3]) one.publish(event, payload);
    pass();
    const cursor = before.seen[0]?.cursor;
    const { missed } = two.resume(cursor);
    const again = client(two, { resumes: true });
    two.replay(missed ?? [], again.receiver);
    assert.deepEqual(
      again.seen.map(({ payload, seq }) => [payload, seq]),
      [
        [2, 42],
        [3, 43],
      ],
    );
  });

  it("gets nothing twice from a gateway that is behind the one before", () => {
    const { one, two, second, pass, queued } = scene();
    const before = client(one, { resumes: true });
    for (const payload of [1, 2]) one.publish(event, payload);
    const late = queued.map(({ text }, index) => ({ n: 101 + index, seq: 41 + index, text: text.text, isOwn: false }));
    pass([0]);
    const cursor = before.seen.at(-1)?.cursor;
    assert.deepEqual(two.resume(cursor).missed, []);
    const again = client(two, { resumes: true, after: cursor?.n ?? 0 });
    second.deliver(late);
    one.publish(event, 3);
    pass();
    assert.deepEqual(again.payloads(), [3]);
  });

  it("is told when events may have been lost, and connects again when its gateway has missed some", () => {
    const { one, first, missed } = scene();
    const cursor = { epoch: "e.1", n: 100 };
    assert.deepEqual(one.resume(cursor).missed, []);
    first.renew({ epoch: "e.2", n: 1_000_100, history: [] });
    assert.deepEqual(one.resume(cursor), { cursor: { epoch: "e.2", n: 1_000_100 }, missed: undefined });
    assert.equal(missed(), 0);
    first.missed({ epoch: "e.2", n: 1_000_200, history: [] });
    assert.equal(missed(), 1);
    assert.equal(one.resume({ epoch: "e.2", n: 1_000_100 }).missed, undefined);
  });

  it("gets the history of a gateway that has just started", () => {
    const { one, pass } = scene();
    const sent: SharedText[] = [];
    const other = new Broadcaster();
    other.join({ send: (text) => sent.push(text) }, START);
    other.publish(event, "old");
    const [text] = sent;
    assert.ok(text);
    const history = [{ n: 101, seq: 41, text: text.text, isOwn: false }];
    one.join({ send: () => undefined }, { epoch: "e.1", n: 105, history });
    pass([]);
    const { cursor, missed } = one.resume({ epoch: "e.1", n: 100 });
    assert.deepEqual([cursor.n, missed?.map(({ emission, seq }) => [emission.text, seq])], [105, [['"old"', 41]]]);
    assert.equal(one.resume({ epoch: "e.1", n: 99 }).missed, undefined);
  });
});

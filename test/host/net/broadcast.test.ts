import assert from "node:assert/strict";
import { type Duplex, PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { defineEvent, type EventSpec, Type } from "@svc/sdk";
import { NEWEST, OLDEST } from "@svc/sdk/protocol";
import { Broadcaster, type Receiver } from "../../../host/net/ws/broadcast.ts";
import { closeReason, encodeTextFrame } from "../../../host/net/ws/frame-codec.ts";
import { Backlog, Outbox } from "../../../host/net/ws/outbox.ts";

const event = defineEvent({ name: "demo", summary: "-", payload: Type.Unknown() });
const guarded = defineEvent({ name: "guarded", summary: "-", payload: Type.Unknown(), scope: "operator.pairing" });

function receiver(id: string, scopes: string[] = [], role: "operator" | "node" = "operator", resumes = false) {
  const frames: Buffer[] = [];
  const self: Receiver = { id, role, scopes, generation: OLDEST, resumes, deliver: (frame) => void frames.push(frame) };
  return { ...self, frames };
}

describe("the broadcaster", () => {
  it("encodes once: every receiver of an audience gets the very same buffer", () => {
    const broadcaster = new Broadcaster();
    const [a, b] = [receiver("a"), receiver("b")];
    broadcaster.add(a);
    broadcaster.add(b);
    broadcaster.publish(event, { n: 1 });
    assert.equal(a.frames[0], b.frames[0]);
  });

  it("encodes an event once for each generation that knows it differently", () => {
    const broadcaster = new Broadcaster();
    const [a, b] = [receiver("a"), receiver("b")];
    const [c, d] = [
      { ...receiver("c"), generation: NEWEST },
      { ...receiver("d"), generation: NEWEST },
    ];
    for (const one of [a, b, c, d]) broadcaster.add(one);
    const payload = { stream: "lifecycle", data: { phase: "end", stopReason: "stop" }, agentId: "main" };
    broadcaster.publish({ ...event, name: "agent" }, payload);
    broadcaster.publish(event, payload);
    assert.equal(a.frames[0], b.frames[0]);
    assert.equal(c.frames[0], d.frames[0]);
    assert.equal(a.frames[1], c.frames[1], "an event that is the same for both");
    const sent = (frame: Buffer | undefined) => JSON.parse(String(frame).slice(String(frame).indexOf("{"))).payload;
    assert.deepEqual(sent(a.frames[0]), { stream: "lifecycle", data: { phase: "end" } });
    assert.deepEqual(sent(c.frames[0]), payload);
  });

  it("uses no sequence number while no client is connected [W12.2]", () => {
    const broadcaster = new Broadcaster();
    broadcaster.publish(event, 1);
    const a = receiver("a");
    broadcaster.add(a);
    broadcaster.publish(event, 2);
    assert.match(String(a.frames[0]), /"seq":1[,}]/);
  });

  it("sends a guarded event to operators who hold the scope or admin, never to nodes [W12.6]", () => {
    const broadcaster = new Broadcaster();
    const all = [
      receiver("none"),
      receiver("scope", ["operator.pairing"]),
      receiver("admin", ["operator.admin"]),
      receiver("node", ["operator.admin"], "node"),
    ];
    for (const one of all) broadcaster.add(one);
    broadcaster.publish(guarded, 1);
    assert.deepEqual(
      all.map(({ frames }) => frames.length),
      [0, 1, 1, 0],
    );
  });

  it("sends events that older gateways sent to all only to operators who may read and to named nodes, except with gateway.compat.chatEventsToAll", () => {
    const said: EventSpec = { ...guarded, name: "said", formerlyForAll: true };
    for (const toAll of [false, true]) {
      const broadcaster = new Broadcaster({ formerlyForAll: () => toAll });
      const all = [
        receiver("none"),
        receiver("scope", ["operator.pairing"]),
        receiver("node", [], "node"),
        receiver("other-node", [], "node"),
      ];
      for (const one of all) broadcaster.add(one);
      broadcaster.publish(said, 1);
      broadcaster.publish(said, 2, { connections: ["none", "node"] });
      assert.deepEqual(
        all.map(({ frames }) => frames.length),
        toAll ? [2, 1, 2, 1] : [0, 1, 1, 0],
      );
      assert.equal(/"seq"/.test(String(all[1]?.frames[0])), toAll, "only events for all are numbered");
    }
  });

  it("gives a cursor to receivers that can resume, in one shared frame; all others share a frame without it", () => {
    const broadcaster = new Broadcaster();
    const [plain, other] = [receiver("plain"), receiver("other")];
    const [first, second] = [receiver("first", [], "operator", true), receiver("second", [], "operator", true)];
    const { cursor } = broadcaster.resume(undefined);
    for (const one of [plain, other, first, second]) broadcaster.add(one);
    broadcaster.publish(event, { n: 1 });
    const text = (one: typeof plain) => JSON.parse(String(one.frames[0]?.subarray(2))) as Record<string, unknown>;
    assert.deepEqual(text(first)["cursor"], { epoch: cursor.epoch, n: 1 });
    assert.deepEqual(Object.keys(text(plain)), ["type", "event", "payload", "seq"]);
    assert.equal(first.frames[0], second.frames[0]);
    assert.equal(plain.frames[0], other.frames[0]);
  });

  it("stores nothing before a client can resume, and stores guarded events without a number", () => {
    const broadcaster = new Broadcaster();
    broadcaster.publish(event, "before");
    const { cursor } = broadcaster.resume(undefined);
    broadcaster.publish(guarded, 1);
    broadcaster.publish(event, 2);
    const { missed } = broadcaster.resume(cursor);
    assert.deepEqual(
      missed?.map(({ emission: { event: spec, text }, seq }) => [spec.name, text, seq]),
      [
        ["guarded", "1", undefined],
        ["demo", "2", undefined],
      ],
    );
    const reader = receiver("reader", [], "operator", true);
    broadcaster.replay(missed ?? [], reader);
    assert.equal(reader.frames.length, 1, "what its scopes do not cover stays away");
  });

  it("forgets connections that left, and ignores unknown ones", () => {
    const broadcaster = new Broadcaster();
    const a = receiver("a");
    broadcaster.add(a);
    broadcaster.remove(a);
    broadcaster.publish(event, 1, { connections: ["a", "b"] });
    assert.equal(a.frames.length, 0);
  });
});

describe("a text frame", () => {
  const lengths: [bytes: number, header: number][] = [
    [0, 2],
    [125, 2],
    [126, 4],
    [65_535, 4],
    [65_536, 10],
  ];
  for (const [bytes, header] of lengths) {
    it(`of ${bytes} bytes has a header of ${header}`, () => {
      const frame = encodeTextFrame("x".repeat(bytes));
      assert.equal(frame.length, header + bytes);
      assert.equal(frame[0], 0x81);
      const told = header === 2 ? frame[1] : header === 4 ? frame.readUInt16BE(2) : Number(frame.readBigUInt64BE(2));
      assert.equal(told, bytes);
    });
  }

  it("counts bytes, not characters", () => {
    assert.equal(encodeTextFrame("ü".repeat(100)).readUInt16BE(2), 200);
  });
});

describe("a close reason", () => {
  it("is at most 120 bytes and never cut inside a character", () => {
    assert.equal(closeReason("short"), "short");
    const cut = closeReason(`${"x".repeat(119)}ü and more`);
    assert.equal(cut, "x".repeat(119));
  });
});

function outboxOf(socket: Duplex, maxBufferedBytes: number, backlog = new Backlog(), onSlow = () => {}): Outbox {
  return new Outbox(socket, maxBufferedBytes, backlog, onSlow);
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("the outbox", () => {
  it("writes all frames of a tick at once", async () => {
    const socket = new PassThrough();
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    const outbox = outboxOf(socket, 1_000);
    for (const text of ["a", "b", "c"]) outbox.push(Buffer.from(text));
    assert.equal(chunks.length, 0);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(chunks.map(String), ["abc"]);
  });

  it("is full when more bytes wait than its limit, queued or in the socket", async () => {
    const socket = new PassThrough({ highWaterMark: 1 });
    const outbox = outboxOf(socket, 10);
    outbox.push(Buffer.alloc(10));
    assert.equal(outbox.isFull, false);
    outbox.push(Buffer.alloc(1));
    assert.equal(outbox.isFull, true);
    await new Promise((resolve) => setImmediate(resolve));
    outbox.push(Buffer.alloc(11));
    assert.equal(outbox.isFull, true);
  });

  it("queues what the socket does not accept, so that a disconnected reader uses no further memory", async () => {
    const socket = new PassThrough();
    const outbox = outboxOf(socket, 100_000_000);
    for (let count = 0; count < 100; count++) outbox.push(Buffer.alloc(100_000));
    await tick();
    assert.ok(socket.writableLength < 1_000_000, `the socket holds ${socket.writableLength} bytes`);
    assert.ok(outbox.unread > 9_000_000);
    outbox.drop();
    assert.ok(outbox.unread < 1_000_000);
  });

  it("writes everything in order once the reader reads again", async () => {
    const socket = new PassThrough();
    const outbox = outboxOf(socket, 100_000_000);
    const sent = Array.from({ length: 50 }, (_, index) => Buffer.alloc(70_000, index));
    for (const frame of sent) outbox.push(frame);
    await tick();
    outbox.push(Buffer.from("the end"));
    const read: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of socket) {
      read.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes === 50 * 70_000 + 7) break;
    }
    assert.ok(Buffer.concat(read).equals(Buffer.concat([...sent, Buffer.from("the end")])));
  });

  it("disconnects the reader with the most unread bytes when all readers together leave too much", async () => {
    const backlog = new Backlog(1_000_000);
    const cut: string[] = [];
    const outboxes = ["little", "most", "some"].map((name) =>
      outboxOf(new PassThrough(), 50_000_000, backlog, () => cut.push(name)),
    );
    for (const [index, bytes] of [100_000, 600_000, 250_000].entries()) outboxes[index]?.push(Buffer.alloc(bytes));
    await tick();
    assert.deepEqual([cut, backlog.bytes > 900_000], [[], true]);
    assert.deepEqual(
      outboxes.map(({ isBehind }) => isBehind),
      [true, true, true],
    ); // droppable frames are dropped first
    outboxes[2]?.push(Buffer.alloc(200_000));
    await tick();
    assert.deepEqual(cut, ["most"]);
    assert.ok(backlog.bytes < 600_000);
  });

  it("ignores a closed socket", async () => {
    const socket = new PassThrough();
    socket.destroy();
    const outbox = outboxOf(socket, 10);
    outbox.push(Buffer.from("x"));
    outbox.flush();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(socket.readableLength, 0);
  });
});

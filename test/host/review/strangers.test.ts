/** Resources that unauthenticated clients can use, and what remains of a refused connection. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { it } from "node:test";
import { defineEvent, Type } from "@svc/sdk";
import type { EventCursor } from "@svc/sdk/protocol";
import { testGateway } from "@svc/sdk/testing";
import { UPGRADE } from "../../fuzz/inputs.ts";
import { connectFrame, connectRaw, openRaw } from "../../raw-socket.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const nobody = pluginOf("nobody", () => undefined);

it(
  "an unauthenticated client that sends too much gets an error, and no more of its data is read",
  limited,
  async (t) => {
    const { gateway } = await testGateway(t, { plugins: [nobody] });
    const socket = connect(gateway.port, "127.0.0.1");
    t.after(() => void socket.destroy());
    const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => undefined);
    socket.write(UPGRADE);
    const bytes = 24_000_000; // less than an accepted client may send
    const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.writeBigUInt64BE(BigInt(bytes), 2);
    socket.write(head);
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    let taken = 0;
    const some = Buffer.alloc(100_000, 0x20);
    const write = () => socket.write(some, (error) => void (error ?? ((taken += some.length) < bytes && write())));
    write();
    await gone;
    assert.ok(taken < bytes / 2, `${taken} bytes were taken`); // both kernels buffer some megabytes
    assert.ok(Buffer.concat(received).includes(Buffer.from([0x88, 0x02, 1009 >> 8, 1009 & 255])), "no close frame");
  },
);

it("nesting as deep as a frame allows is refused", limited, async (t) => {
  const { gateway } = await testGateway(t, { plugins: [nobody] });
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const stranger = await openRaw(gateway.url);
  stranger.send(`{"type":"req","id":"1","method":"connect","params":${deep(30_000)}}`);
  assert.equal((await stranger.closed).code, 1008);
  const known = await connectRaw(gateway.url, gateway.auth.token);
  known.send(`{"type":"req","id":"9","method":"nobody.x","params":${deep(500_000)}}`);
  const answer = await known.next(({ id }) => id === "9");
  assert.equal(answer.ok, false);
  known.ws.close();
});

it("prototype keys in frames change no prototype", limited, async (t) => {
  const { gateway } = await testGateway(t, { plugins: [nobody] });
  const stranger = await openRaw(gateway.url);
  const frame = JSON.stringify(connectFrame(gateway.auth.token, { marker: 1 }));
  stranger.send(
    frame.replace('"marker":1', '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}'),
  );
  await stranger.closed;
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

const happened = defineEvent({ name: "news.happened", summary: "-", payload: Type.Object({ n: Type.Integer() }) });

it("nothing is lost between the cursor of hello-ok and the first event", limited, async (t) => {
  let publish: ((n: number) => void) | undefined;
  const news = pluginOf("news", (gateway) => {
    const emit = gateway.event(happened);
    publish = (n) => emit({ n });
    // Publishes in each of the next microtasks: some before the cursor is read, some before the connection is added.
    gateway.hooks.hello.tap((extra) => {
      void (async () => {
        for (let n = 1; n <= 40; n++) {
          await Promise.resolve();
          publish?.(n);
        }
      })();
      return extra;
    });
  });
  const { gateway } = await testGateway(t, { plugins: [news] });
  const socket = await connectRaw(gateway.url, gateway.auth.token, { caps: ["resume"] });
  await socket.next(({ event, payload }) => event === happened.name && payload?.["n"] === 40);
  const hello = socket.frames.find(({ id }) => id === "c1");
  const { cursor } = (hello?.payload ?? {})["resume"] as { cursor: EventCursor };
  const places = socket.frames
    .filter(({ event }) => event === happened.name)
    .map((frame) => (frame as unknown as { cursor: EventCursor }).cursor.n);
  assert.equal(places[0], cursor.n + 1);
  assert.deepEqual(
    places,
    places.map((_, index) => cursor.n + 1 + index),
  );
  socket.ws.close();
});

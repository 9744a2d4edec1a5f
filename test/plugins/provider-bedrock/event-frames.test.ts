import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { framesOf } from "../../../plugins/provider-bedrock/event-frames.ts";
import { frame } from "../providers/servers/converse.ts";

const source = 'model provider "acme"';

async function read(chunks: readonly Uint8Array[]) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const names: unknown[] = [];
  for await (const { headers, payload } of framesOf({ body }, source))
    names.push([headers[":event-type"], JSON.parse(payload)]);
  return names;
}

describe("frames of an event stream", () => {
  const whole = Buffer.concat([frame("one", { text: "ä€🎉" }), frame("two", {}), frame("three", { n: 3 })]);
  const wanted = [
    ["one", { text: "ä€🎉" }],
    ["two", {}],
    ["three", { n: 3 }],
  ];
  for (const size of [1, 3, 5, 64, 10_000])
    it(`are the same in chunks of ${size} bytes`, async () => {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
        whole.subarray(index * size, (index + 1) * size),
      );
      assert.deepEqual(await read(chunks), wanted);
    });

  it("are none in an empty body", async () => assert.deepEqual(await read([]), []));

  it("are refused with a wrong checksum", async () => {
    const damaged = Buffer.from(frame("one", { text: "abc" }));
    damaged.writeUInt8(0, damaged.length - 8);
    await assert.rejects(read([damaged]), {
      code: "UNAVAILABLE",
      details: { kind: "server_error" },
      message: /damaged event/u,
    });
  });

  it("are refused when the connection ends inside one", () =>
    assert.rejects(read([whole.subarray(0, whole.length - 1)]), {
      details: { kind: "network" },
      message: /disconnected/u,
    }));

  for (const [why, bytes] of [
    ["a page", Buffer.from("<!doctype html>")],
    ["a length of 2 GB", Buffer.from([128, 0, 0, 0, 0])],
    ["a length of 0", Buffer.from([0, 0, 0, 0])],
  ] as const)
    it(`are refused for ${why}, before it is read`, () =>
      assert.rejects(read([bytes]), { details: { kind: "server_error" }, message: /no event stream/u }));
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundedErrors, MAX_EVENT_CHARS, type ServerEvent, serverEvents } from "@svc/kit/providers";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The events of a body that arrives in these pieces. */
async function read(...pieces: readonly string[]): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(bytes(piece));
      controller.close();
    },
  });
  for await (const whole of serverEvents({ body }, "acme", (event) => [event])) events.push(...whole);
  return events;
}

/** A body that repeats `piece` for ever. */
function endless(piece: string) {
  const state = { pulled: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      state.pulled += piece.length;
      controller.enqueue(bytes(piece));
    },
    cancel: () => void (state.cancelled = true),
  });
  return { body, state };
}

describe("events of a model server", () => {
  const rows: [why: string, pieces: string[], events: ServerEvent[]][] = [
    ["one after the other", ["data: a\n\ndata: b\n\n"], [{ data: "a" }, { data: "b" }]],
    ["names, comments and other fields", [": ping\n\nid: 7\nevent: x\ndata:a\n\n"], [{ name: "x", data: "a" }]],
    ["several lines of data", ["data: a\ndata: b\n\n"], [{ data: "a\nb" }]],
    [
      "every kind of line end",
      ["data: a\r\n\r\ndata: b\r\rdata: c\n\n"],
      [{ data: "a" }, { data: "b" }, { data: "c" }],
    ],
    ["a line end in two pieces", ["data: a\r", "\ndata: b\r", "\n\r", "\n"], [{ data: "a\nb" }]],
    ["no blank line at the end", ["data: a\n\nda", "ta: b"], [{ data: "a" }, { data: "b" }]],
    ["nothing", [], []],
  ];
  for (const [why, pieces, events] of rows) {
    it(`are read with ${why}`, async () => assert.deepEqual(await read(...pieces), events));
  }

  for (const [why, piece] of [
    ["a line", "x".repeat(65_536)],
    ["an event of many lines", "data: x\n".repeat(8_192)],
  ] as const) {
    it(`are refused once ${why} does not end, and the connection is closed`, async () => {
      const { body, state } = endless(piece);
      await assert.rejects(serverEvents({ body }, "acme", () => []).next(), {
        code: "UNAVAILABLE",
        message: /^acme sent more than 1000000 characters in one piece/u,
        details: { kind: "server_error" },
      });
      assert.ok(state.cancelled);
      assert.ok(state.pulled <= 2 * MAX_EVENT_CHARS, `${state.pulled} characters were read`);
    });
  }

  it("let other work of the process have its turn while many arrive at once", async () => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const events = await read("data: x\n\n".repeat(100_000));
    isOver = true;
    assert.equal(events.length, 100_000);
    assert.ok(turns > 40, `${turns} turns`);
  });

  it("close the connection when the reader stops", async () => {
    const { body, state } = endless("data: x\n\n");
    for await (const _events of serverEvents({ body }, "acme", (event) => [event])) break;
    assert.ok(state.cancelled);
  });
});

describe("an error answer", () => {
  it("is read to its first 64 KB, and keeps its status and headers", async () => {
    const { body, state } = endless("x".repeat(10_000));
    const fetch = boundedErrors(async () => new Response(body, { status: 429, headers: { "retry-after": "7" } }));
    const response = await fetch("http://host.example");
    assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "7"]);
    assert.equal((await response.text()).length, 65_536);
    assert.ok(state.cancelled);
  });

  it("leaves an answer alone that is none", async () => {
    const answer = new Response("fine");
    assert.equal(await boundedErrors(async () => answer)("http://host.example"), answer);
  });
});

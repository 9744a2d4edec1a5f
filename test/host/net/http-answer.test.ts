/** Replies and failures of a route, and a client that disconnects. Spec: http/auth.md §4. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, GatewayError, type RouteReply } from "@svc/sdk";
import { type Asked, errorOf, serve, webPlugin } from "./web-scene.ts";

const answering = (t: TestContext, answer: (request: Asked) => unknown) =>
  serve(t, webPlugin(answer as () => RouteReply));
/** A handler that throws. */
const throwing = (thrown: unknown) => () => {
  throw thrown;
};

describe("the reply of a route", () => {
  const rows: [why: string, reply: RouteReply, status: number, type: string | null, body: string][] = [
    ["nothing", {}, 200, null, ""],
    ["a status alone", { status: 202 }, 202, null, ""],
    ["no content", { status: 204 }, 204, null, ""],
    ["text", { body: "hällo" }, 200, "text/plain; charset=utf-8", "hällo"],
    ["text that looks like a page is text", { body: "<script>" }, 200, "text/plain; charset=utf-8", "<script>"],
    [
      "a page with its content type",
      { body: "<p>", headers: { "content-type": "text/html" } },
      200,
      "text/html",
      "<p>",
    ],
    ["empty text", { body: "" }, 200, "text/plain; charset=utf-8", ""],
    ["bytes", { body: new Uint8Array([104, 105]) }, 200, "application/octet-stream", "hi"],
    ["an object", { body: { a: [1, null] } }, 200, "application/json; charset=utf-8", '{"a":[1,null]}'],
    ["a list", { body: [] }, 200, "application/json; charset=utf-8", "[]"],
    ["null", { body: null }, 200, "application/json; charset=utf-8", "null"],
    ["false", { body: false }, 200, "application/json; charset=utf-8", "false"],
    ["a stream of nothing", { body: (async function* () {})() }, 200, "application/octet-stream", ""],
    ["a refusal of its own", { status: 404, body: "gone" }, 404, "text/plain; charset=utf-8", "gone"],
    [
      "an object with a type of its own",
      { body: {}, headers: { "Content-Type": "application/x+json" } },
      200,
      "application/x+json",
      "{}",
    ],
  ];
  it("is sent with its status, type and body", async (t) => {
    let at = 0;
    const { ask } = await answering(t, () => rows[at]?.[1]);
    for (const [why, , status, type, body] of rows) {
      const response = await ask("/plugins/web/answer");
      const told = [response.status, response.headers.get("content-type"), await response.text()];
      assert.deepEqual(told, [status, type, body], why);
      at += 1;
    }
  });

  it("may carry headers", async (t) => {
    const { ask } = await answering(t, () => ({ status: 302, headers: { Location: "/x", "X-Mine": "1" } }));
    const response = await ask("/plugins/web/answer", { redirect: "manual" });
    assert.deepEqual(
      [response.status, response.headers.get("location"), response.headers.get("x-mine")],
      [302, "/x", "1"],
    );
  });

  it("may be a stream, sent as it comes", async (t) => {
    let release = () => {};
    const second = new Promise<void>((resolve) => (release = resolve));
    async function* body() {
      yield "data: 1\n\n";
      await second;
      yield new TextEncoder().encode("data: 2\n\n");
    }
    const { ask } = await answering(t, () => ({ headers: { "content-type": "text/event-stream" }, body: body() }));
    const response = await ask("/plugins/web/answer");
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    assert.ok(reader);
    assert.equal((await reader.read()).value, "data: 1\n\n");
    release();
    assert.equal((await reader.read()).value, "data: 2\n\n");
    assert.equal((await reader.read()).done, true);
  });
});

describe("a route that fails", () => {
  const fails: [why: string, answer: (request: Asked) => unknown][] = [
    ["throws", throwing(new Error("CANARY at /etc/passwd"))],
    ["rejects", () => Promise.reject(new Error("CANARY"))],
    ["throws a value that is not an error", throwing({ message: "CANARY" })],
    [
      "throws an error with a status of its own",
      throwing(Object.assign(new Error("CANARY"), { expose: true, status: 418 })),
    ],
    ["returns undefined", () => undefined],
    ["returns a value without JSON", () => ({ body: 1n })],
    [
      "returns a circular object",
      () => {
        const circle: Record<string, unknown> = { x: "CANARY" };
        circle["self"] = circle;
        return { body: circle };
      },
    ],
    ["returns a function", () => ({ body: () => "CANARY" })],
    ["returns an invalid status", () => ({ status: 99, body: "CANARY" })],
    [
      "returns an invalid header",
      () => ({ headers: { "Content-Type": "text/csv", "X-Bad": "a\r\nSet-Cookie: CANARY" } }),
    ],
    [
      "returns a stream that fails at once",
      () => ({
        body: (async function* () {
          yield* [];
          throw new Error("CANARY");
        })(),
      }),
    ],
    [
      "returns a stream of objects",
      () => ({
        body: (async function* () {
          yield { x: "CANARY" };
        })(),
      }),
    ],
  ];
  it("is 500 with a correlation id, leaks nothing, and is attributed to its plugin [H10.7]", async (t) => {
    let at = 0;
    const { ask, charged } = await answering(t, (request) => fails[at]?.[1](request));
    for (const [why] of fails) {
      const response = await ask("/plugins/web/answer");
      const text = await response.text();
      assert.equal(response.status, 500, `${why}: ${text}`);
      assert.match(text, /^\{"error":\{"message":"internal error \([0-9a-f]{12}\)","type":"internal_error"\}\}$/);
      assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
      assert.equal(response.headers.get("set-cookie"), null);
      assert.equal(response.headers.get("x-content-type-options"), "nosniff");
      at += 1;
      assert.equal(charged(), at, why);
    }
  });

  for (const [why, rest] of [
    [
      "throws",
      async function* () {
        yield* [];
        throw new Error("late");
      },
    ],
    [
      "yields a value that cannot be sent",
      async function* () {
        yield 5;
      },
    ],
  ] as [string, () => AsyncGenerator<number>][]) {
    it(`late, in a stream, is aborted: a partial response does not look complete (${why})`, async (t) => {
      let go = () => {};
      const firstRead = new Promise<void>((resolve) => (go = resolve));
      async function* body() {
        yield "first";
        await firstRead;
        yield* rest();
      }
      const { ask, charged } = await answering(t, () => ({ body: body() }));
      const response = await ask("/plugins/web/answer");
      assert.equal(response.status, 200);
      go();
      await assert.rejects(response.text());
      assert.equal(charged(), 1);
      assert.equal((await ask("/healthz")).status, 200);
    });
  }

  it("with a GatewayError is refused with its message, and is attributed to no plugin", async (t) => {
    const { ask, charged } = await answering(
      t,
      throwing(new GatewayError("TOO_MANY_ATTEMPTS", "because", { retryAfterMs: 1_500 })),
    );
    const response = await ask("/plugins/web/answer");
    assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "2"]);
    assert.equal((await errorOf(response)).message, "because");
    assert.equal(charged(), 0);
  });

  it("because of an invalid path costs its plugin only that route", async (t) => {
    const plugin = definePlugin({
      id: "crooked",
      api: "^1.0.0",
      setup(gateway) {
        const route = { method: "GET", auth: "plugin", summary: "x", handler: () => ({ body: "straight" }) } as const;
        gateway.route({ ...route, path: "/plugins/crooked/(" });
        gateway.route({ ...route, path: "/plugins/crooked/straight" });
      },
    });
    const { ask, gateway } = await serve(t, webPlugin(), { more: [plugin] });
    assert.equal(await (await ask("/plugins/web/answer")).text(), "hello");
    assert.equal(await (await ask("/plugins/crooked/straight")).text(), "straight");
    assert.equal(gateway.plugins().find(({ id }) => id === "crooked")?.errors, 1);
  });
});

describe("a client that goes away", () => {
  it("aborts the signal of the handler", async (t) => {
    let began = (_signal: AbortSignal) => {};
    const signal = new Promise<AbortSignal>((resolve) => (began = resolve));
    const { ask } = await serve(
      t,
      webPlugin(async (request) => {
        began(request.signal);
        await once(request.signal, "abort");
        return { body: "too late" };
      }),
    );
    const leave = new AbortController();
    const response = ask("/plugins/web/answer", { signal: leave.signal }).catch(() => "gone");
    const given = await signal;
    assert.equal(given.aborted, false);
    leave.abort();
    assert.equal(await response, "gone");
    if (!given.aborted) await once(given, "abort");
    assert.equal(given.aborted, true);
  });

  it("ends the stream it was reading", async (t) => {
    let ended = () => {};
    const end = new Promise<void>((resolve) => (ended = resolve));
    async function* body(signal: AbortSignal) {
      try {
        for (;;) {
          yield "x".repeat(1_000);
          await new Promise<void>((resolve) => setTimeout(resolve, signal.aborted ? 0 : 5));
        }
      } finally {
        ended();
      }
    }
    const { ask, charged } = await answering(t, ({ signal }) => ({ body: body(signal) }));
    const leave = new AbortController();
    const response = await ask("/plugins/web/answer", { signal: leave.signal });
    await response.body?.getReader().read();
    leave.abort();
    await end;
    assert.equal(charged(), 0);
  });
});

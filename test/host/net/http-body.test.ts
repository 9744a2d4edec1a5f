/** Request bodies. Spec: http/auth.md §4; spec/README.md (413 is really sent). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, type TSchema, Type } from "@svc/sdk";
import { parseBody } from "../../../host/net/http/body.ts";
import { exchange } from "./http-exchange.ts";
import { errorOf, LIMIT, serve, webPlugin } from "./web-scene.ts";

/** A plugin whose route returns what it received. */
const plain = (id: string, more: { body?: TSchema } = {}) =>
  definePlugin({
    id,
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.route({
        method: "POST",
        path: `/plugins/${id}/in`,
        auth: "plugin",
        summary: "in",
        ...more,
        handler: ({ body, rawBody }) => ({ body: { body, bytes: rawBody.length } }),
      }),
  });

describe("the body of a request", () => {
  it("holds no more values than a message of a WebSocket, and may hold a long text", async () => {
    const schema = Type.Unknown();
    const turn = async () => {};
    const refusal = {
      code: "PAYLOAD_TOO_LARGE",
      message: /^a message holds at most 200000 values and 6400000 bytes of numbers and white space; /,
    };
    const deep = (levels: number) => Buffer.from("[".repeat(levels) + "]".repeat(levels));
    const tooDeep = { code: "INVALID_REQUEST", message: "the body is nested deeper than 200 levels" };
    for (const levels of [201, 20_000]) await assert.rejects(parseBody(schema, deep(levels), turn), tooDeep);
    await parseBody(schema, deep(200), turn);
    await assert.rejects(parseBody(schema, Buffer.from(`[${"1,".repeat(200_001)}1]`), turn), refusal);
    assert.equal(await parseBody(schema, Buffer.from(`"${",".repeat(400_000)}"`), turn), ",".repeat(400_000));
  });

  it("is parsed and checked when the route has a schema for it", async (t) => {
    const { post } = await serve(t);
    const response = await post("/plugins/web/typed", '{"name": "ä", "tags": []}');
    assert.deepEqual([response.status, await response.json()], [200, { got: { name: "ä", tags: [] } }]);
  });

  const refused: [why: string, body: string, message: RegExp][] = [
    ["a wrong type", '{"name": 1}', /^invalid body: at \/name: must be string$/],
    ["an extra key", '{"name": "x", "nam": 1}', /at root: unexpected property 'nam'/],
    ["a prototype", '{"name": "x", "__proto__": {}}', /unexpected property '__proto__'/],
    ["no body, which counts as {}", "", /at root: .*name/],
    ["null", "null", /at root: must be object/],
    ["invalid JSON", '{"name":', /^the request body is not JSON$/],
  ];
  it("is refused with 400 and the path of the error", async (t) => {
    const { post, asked } = await serve(t);
    for (const [why, body, message] of refused) {
      const response = await post("/plugins/web/typed", body);
      const { message: text, type } = await errorOf(response);
      assert.deepEqual([response.status, type, asked.length], [400, "invalid_request_error", 0], why);
      assert.match(text, message);
    }
  });

  it("that is empty is {} for a route that accepts {}", async (t) => {
    const body = Type.Object({ a: Type.Optional(Type.String()) });
    const { post } = await serve(t, webPlugin(), { more: [plain("loose", { body })] });
    assert.deepEqual(await (await post("/plugins/loose/in", null)).json(), { body: {}, bytes: 0 });
  });

  it("is passed on byte for byte when the route has no schema", async (t) => {
    const { post, asked } = await serve(t);
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    assert.deepEqual(await (await post("/plugins/web/raw", bytes)).json(), { got: "none", bytes: 256 });
    assert.deepEqual(new Uint8Array(asked[0]?.rawBody ?? []), bytes);
  });
});

describe("a body that is too large", () => {
  const streamed = (bytes: number) =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    });
  const chunked = (bytes: number): RequestInit => ({ body: streamed(bytes), duplex: "half" }) as RequestInit; // required by Node's fetch

  it("is one byte over the limit", async (t) => {
    const { post } = await serve(t);
    assert.equal((await post("/plugins/web/raw", new Uint8Array(LIMIT))).status, 200);
    assert.equal((await post("/plugins/web/raw", null, chunked(LIMIT))).status, 200);
    assert.equal((await post("/plugins/web/raw", new Uint8Array(LIMIT + 1))).status, 413);
    assert.equal((await post("/plugins/web/raw", null, chunked(LIMIT + 1))).status, 413);
  });

  it("is one byte over 1 MiB when the route sets no limit", async (t) => {
    const { post } = await serve(t, webPlugin(), { more: [plain("large")] });
    assert.equal((await post("/plugins/large/in", new Uint8Array(1_048_576))).status, 200);
    assert.equal((await post("/plugins/large/in", new Uint8Array(1_048_577))).status, 413);
  });

  it("is answered before it is sent, and the connection closed, also for a client that waits for 100 Continue", async (t) => {
    const { port, asked } = await serve(t);
    for (const more of [{}, { Expect: "100-continue" }]) {
      const headers = { "Content-Length": "5000000", ...more };
      const answer = await exchange(port, { method: "POST", target: "/plugins/web/raw", headers });
      const status = answer.status === 100 ? Number(/HTTP\/1\.1 (\d+)/.exec(answer.body)?.[1]) : answer.status;
      assert.deepEqual([status, answer.closed, asked.length], [413, true, 0]);
      assert.ok(answer.body.endsWith('{"error":{"message":"Payload too large","type":"invalid_request_error"}}'));
    }
  });
});

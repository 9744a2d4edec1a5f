/** Request bodies. Spec: http/auth.md §4; spec/README.md (413 is really sent). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { describe, it } from "node:test";
import { definePlugin, Type } from "@svc/sdk";
import { parseBody } from "../../../host/net/http/body.ts";
import { exchange } from "./http-exchange.ts";
import { errorOf, LIMIT, serve, webPlugin } from "./web-scene.ts";

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
    ["a wrong type further down", '{"name": "x", "tags": ["a", 2]}', /at \/tags\/1: must be string/],
    ["an extra key", '{"name": "x", "nam": 1}', /at root: unexpected property 'nam'/],
    ["a missing key", "{}", /at root: .*name/],
    ["no body, which counts as {}", "", /at root: .*name/],
    ["a list", "[]", /at root: must be object/],
    ["null", "null", /at root: must be object/],
    ["invalid JSON", "{name: 1}", /^the request body is not JSON$/],
    ["half of it", '{"name":', /^the request body is not JSON$/],
    ["a prototype", '{"name": "x", "__proto__": {}}', /unexpected property '__proto__'/],
  ];
  for (const [why, body, message] of refused) {
    it(`is refused with 400 and the path of the error: ${why}`, async (t) => {
      const { post, asked } = await serve(t);
      const response = await post("/plugins/web/typed", body);
      const { message: text, type } = await errorOf(response);
      assert.deepEqual([response.status, type, asked.length], [400, "invalid_request_error", 0]);
      assert.match(text, message);
    });
  }

  it("that is empty is {} for a route that accepts {}", async (t) => {
    const plugin = definePlugin({
      id: "loose",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway.route({
          method: "POST",
          path: "/plugins/loose/in",
          auth: "plugin",
          summary: "in",
          body: Type.Object({ a: Type.Optional(Type.String()) }),
          handler: ({ body, rawBody }) => ({ body: { body, bytes: rawBody.length } }),
        }),
    });
    const { post } = await serve(t, webPlugin(), { more: [plugin] });
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
    const plugin = definePlugin({
      id: "large",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway.route({
          method: "POST",
          path: "/plugins/large/in",
          auth: "plugin",
          summary: "in",
          handler: ({ rawBody }) => ({ body: String(rawBody.length) }),
        }),
    });
    const { post } = await serve(t, webPlugin(), { more: [plugin] });
    assert.equal((await post("/plugins/large/in", new Uint8Array(1_048_576))).status, 200);
    assert.equal((await post("/plugins/large/in", new Uint8Array(1_048_577))).status, 413);
  });

  for (const [why, headers] of [
    ["declared", { "Content-Length": "5000000" }],
    ["declared, by a client that waits for 100 Continue", { "Content-Length": "5000000", Expect: "100-continue" }],
  ] as const) {
    it(`is answered before it is sent, and the connection closed: ${why}`, async (t) => {
      const { port, asked } = await serve(t);
      const answer = await exchange(port, { method: "POST", target: "/plugins/web/raw", headers });
      const final =
        answer.status === 100 ? { ...answer, status: Number(/HTTP\/1\.1 (\d+)/.exec(answer.body)?.[1]) } : answer;
      assert.deepEqual([final.status, final.closed, asked.length], [413, true, 0]);
      assert.ok(final.body.endsWith('{"error":{"message":"Payload too large","type":"invalid_request_error"}}'));
    });
  }

  for (const form of ["content-length", "chunked"]) {
    it(`is answered, and not read to its end: ${form}`, async (t) => {
      const { port } = await serve(t);
      const size = 50_000_000;
      const headers = form === "chunked" ? {} : { "Content-Length": size };
      const request = httpRequest({ port, host: "127.0.0.1", method: "POST", path: "/plugins/web/raw", headers });
      request.on("error", () => undefined); // writing on after the answer
      const chunk = Buffer.alloc(65_536);
      let written = 0;
      const push = () => {
        while (written < size && !request.destroyed) {
          written += chunk.length;
          if (!request.write(chunk)) return void request.once("drain", push);
        }
      };
      push();
      const [response] = (await once(request, "response")) as [IncomingMessage];
      const [body] = (await once(response, "data")) as [Buffer];
      assert.deepEqual([response.statusCode, response.headers.connection], [413, "close"]);
      assert.match(body.toString(), /Payload too large/);
      // The client has sent what fits into the buffers of two sockets; it never sends the rest.
      assert.ok(request.socket && request.socket.bytesWritten < size / 2, String(request.socket?.bytesWritten));
      request.destroy();
    });
  }
});

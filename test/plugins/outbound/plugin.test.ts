/** The service in a real gateway, called by another plugin: local addresses stay unreachable. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { it } from "node:test";
import { defineContract, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { OutboundFetch } from "@svc/sdk/web";
import { listen } from "./scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const reader = defineContract("reader", {
  read: { summary: "-", scope: "operator.read", params: Type.Object({ url: Type.String() }), result: Type.Object({}) },
});

const readerPlugin = pluginOf("reader", { requires: { outbound: OutboundFetch } }, (gateway) => {
  gateway.serve(reader, {
    async read({ params: { url }, signal }) {
      await gateway.services.outbound.fetch({ url, signal, maxBytes: 100, maxRedirects: 0, timeoutMs: 5_000 });
      return {};
    },
  });
});

it("the service outbound.fetch does not reach a server on this machine, under any name", async (t) => {
  let asked = 0;
  const port = await listen(
    t,
    createServer((_, response) => {
      asked += 1;
      response.end();
    }),
  );
  const { client } = await testGateway(t, { plugins: ["outbound", readerPlugin] });
  const error = { code: "INVALID_REQUEST", details: { code: "ADDRESS_NOT_PUBLIC" } };
  for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0"])
    await assert.rejects(client.request("reader.read", { url: `http://${host}:${port}/` }), error);
  assert.equal(asked, 0);
});

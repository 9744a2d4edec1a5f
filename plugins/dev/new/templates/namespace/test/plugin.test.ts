import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaceContract, testGateway } from "@svc/sdk/testing";
import plugin, { greeted, sampleNameContract } from "../plugin.ts";

test("sample-name fulfills the contract of a namespace", (t) =>
  namespaceContract(t, { plugin, contract: sampleNameContract, samples: { hello: [{ name: "Ada" }] } }));

test("sample-name greets with the configured word, publishes the event, and counts", async (t) => {
  const { client } = await testGateway(t, { plugins: [plugin], config: { "sample-name": { word: "Good morning" } } });
  const names: string[] = [];
  client.on(greeted, ({ name }) => names.push(name));
  assert.deepEqual(await client.call(sampleNameContract.hello, { name: "Ada" }), { text: "Good morning, Ada!" });
  assert.deepEqual(await client.call(sampleNameContract.count, {}), { greeted: 1 });
  assert.deepEqual(names, ["Ada"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelProvider } from "@svc/sdk/models";
import { contributionOf, providerContract, startFakeModelServer } from "@svc/sdk/testing";
import plugin from "../plugin.ts";

test("sample-name fulfills the contract of a model provider", async (t) => {
  const provider = await contributionOf(t, ModelProvider, "sample-name", { plugin });
  await providerContract(t, { provider });
});

test("sample-name sends the key and the model of its account", async (t) => {
  const provider = await contributionOf(t, ModelProvider, "sample-name", { plugin });
  await using server = await startFakeModelServer({ replies: [{ text: "hi" }] });
  const model = { provider: "mine", id: "fake-model", name: "Fake", api: "sample-name" };
  const request = { model, system: "Be kind.", messages: [], tools: [] };
  const account = { name: "mine", baseUrl: server.url, apiKey: "a-key" };
  for await (const _ of provider.stream(request, account, new AbortController().signal));
  const [asked] = server.requests;
  assert.equal(asked?.headers.authorization, "Bearer a-key");
  assert.equal(asked?.body.model, "fake-model");
});

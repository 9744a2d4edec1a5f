import assert from "node:assert/strict";
import { test } from "node:test";
import { contributionOf, toolContract } from "@svc/sdk/testing";
import { Tool } from "@svc/sdk/tools";
import plugin from "../plugin.ts";

test("sample-name fulfills the contract of a tool", async (t) => {
  const tool = await contributionOf(t, Tool, "sample_name", { plugin });
  await toolContract(t, { tool, name: "sample_name", samples: [{ text: "two words" }, { text: "" }] });
});

test("sample-name counts, and rejects a text longer than configured", async (t) => {
  const config = { "sample-name": { longest: 10 } };
  const tool = await contributionOf(t, Tool, "sample_name", { plugin, config });
  const call = { name: "sample_name", toolCallId: "1", arguments: {}, runId: "r", sessionKey: "main", agentId: "main" };
  const principal = { id: "test", role: "operator", scopes: ["operator.read"], provenance: "token", epoch: 0 } as const;
  const context = { call, principal, signal: new AbortController().signal };
  assert.equal(await tool.run({ text: "one\ntwo" }, context), '{"words":2,"lines":2,"characters":7}');
  await toolContract(t, {
    tool,
    name: "sample_name",
    samples: [{ text: "short" }],
    invalid: [{ text: "much too long" }],
  });
});

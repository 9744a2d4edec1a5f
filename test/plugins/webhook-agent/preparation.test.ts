import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { invalidRequest, matches } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { WebhookActionContext, WebhookFields } from "@svc/sdk/webhooks";
import { AgentParams, mergeAgent } from "../../../plugins/webhook-agent/fields.ts";
import { type PreparationSources, prepareAgent } from "../../../plugins/webhook-agent/preparation.ts";
import { agentOf, canonicalKey } from "../../../plugins/sessions/keys-routing/keys.ts";
import { openPolicy } from "../webhook-scene.ts";

const agents: AgentDirectory = {
  list: () => [],
  defaultId: "main",
  toolPolicy: () => undefined,
  heartbeat: () => undefined,
  memorySearch: () => ({}),
  timeZone: "UTC",
  skills: () => undefined,
  maxSpawnDepth: 1,
  has: (id) => id === "main" || id === "ops",
};
const delivery = {
  channels: () => ["pigeon", "telex"],
  channelId: (name: string) => ({ pigeon: "pigeon", telex: "telex", tx: "telex", gone: "gone" })[name],
};
const rules = { defaultAgentId: "main", mainKey: "main", scope: "per-sender" } as const;
const sources: PreparationSources = {
  agents,
  sessions: { canonicalKey: (key) => canonicalKey(key, rules), agentOf: (key) => agentOf(key, rules) },
  delivery,
  allowedModels: undefined,
};

interface Case extends Partial<PreparationSources> {
  readonly source?: WebhookActionContext["source"];
  readonly policy?: Partial<WebhookActionContext["policy"]>;
}

function prepare(fields: WebhookFields, { source = "request", policy, ...other }: Case = {}) {
  const context = { source, mapping: "test", policy: { ...openPolicy, ...policy } };
  return prepareAgent({ message: "hi", ...fields }, context, { ...sources, ...other });
}

/** Params for `{ message: "hi" }`. */
const plain = {
  message: "hi",
  name: "Hook",
  agentId: "main",
  sessionKey: "agent:main:hook:1234",
  wakeMode: "now",
  deliver: true,
  channel: "last",
};
const allowedModels = new Map([
  ["fake/gpt-x", { alias: "Smart" }],
  ["open/router/gpt-y", {}],
]);

describe("the fields of an agent run", () => {
  const accepted: [what: string, fields: WebhookFields, params: object, more?: Case][] = [
    ["a message alone", {}, {}],
    ["a message with spaces", { message: " hi\n" }, {}],
    ["fields nobody knows", { allowUnsafeExternalContent: true, x: 1 }, {}],
    ["a name", { name: " Git\n<b> Hub\u0007 " }, { name: "Git b Hub" }],
    ["a long name", { name: "n".repeat(99) }, { name: "n".repeat(80) }],
    ["a blank name", { name: " " }, {}],
    ["a name that is none", { name: { a: 1 } }, {}],
    ["wakeMode", { wakeMode: "next-heartbeat" }, { wakeMode: "next-heartbeat" }],
    ["a blank wakeMode of a mapping", { wakeMode: "" }, {}, { source: "mapping" }],
    ["deliver false", { deliver: false }, { deliver: false }],
    ["deliver 0, null and texts as true", { deliver: 0 }, {}],
    ["deliver as a text as true", { deliver: "false" }, {}],
    ["the channel last in any case", { channel: " Last " }, {}],
    ["a channel", { channel: "Pigeon" }, { channel: "pigeon" }],
    ["a channel by another name", { channel: "TX" }, { channel: "telex" }],
    ["a recipient", { to: " 42 " }, { to: "42" }],
    ["a recipient that is none", { to: 42 }, {}],
    ["a model", { model: " fake/gpt-x " }, { model: "fake/gpt-x" }],
    ["a blank model of a mapping", { model: " " }, {}, { source: "mapping" }],
    ["an allowed model", { model: "fake/gpt-x" }, { model: "fake/gpt-x" }, { allowedModels }],
    ["an allowed model by its id", { model: "router/gpt-y" }, { model: "router/gpt-y" }, { allowedModels }],
    ["an allowed model by its alias", { model: "smart" }, { model: "smart" }, { allowedModels }],
    ["any model where the list is empty", { model: "x" }, { model: "x" }, { allowedModels: new Map() }],
    ["a level", { thinking: "High" }, { thinking: "high" }],
    ["another name of a level", { thinking: "max" }, { thinking: "high" }],
    ["a blank level", { thinking: "" }, {}],
    ["a time", { timeoutSeconds: 90.9 }, { timeoutSeconds: 90 }],
    ["a time below a second", { timeoutSeconds: 0.2 }, { timeoutSeconds: 1 }],
    ["a time of years", { timeoutSeconds: 1e12 }, { timeoutSeconds: 2_147_483 }],
    ["no time as unset", { timeoutSeconds: 0 }, {}],
    ["a negative time as unset", { timeoutSeconds: -1 }, {}],
    ["an endless time as unset", { timeoutSeconds: Infinity }, {}],
    ["a time as text as unset", { timeoutSeconds: "90" }, {}],
  ];
  for (const [what, fields, params, more] of accepted) {
    it(`accepts ${what}`, () => {
      const prepared = prepare(fields, more);
      assert.deepEqual(prepared.params, { ...plain, ...params });
      assert.ok(matches(AgentParams, JSON.parse(JSON.stringify(prepared.params))), "and run takes it back");
    });
  }

  const noModel =
    /^model "open\/z" is not allowed: add it to agents\.defaults\.models, or choose one of fake\/gpt-x, open/;
  const levels = "thinking must be one of off, minimal, low, medium, high, xhigh, adaptive";
  const refused: [what: string, fields: WebhookFields, message: string | RegExp, more?: Case][] = [
    ["no message", { message: undefined }, "message required"],
    ["a blank message", { message: "  " }, "message required"],
    ["a message that is none", { message: { text: "x" } }, "message required"],
    ["no message of a mapping", { message: "" }, "hook mapping requires message", { source: "mapping" }],
    ["another wakeMode", { wakeMode: "later" }, "wakeMode must be now or next-heartbeat"],
    ["a blank wakeMode", { wakeMode: "" }, "wakeMode must be now or next-heartbeat"],
    ["another channel", { channel: "owl" }, "channel must be last|pigeon|telex"],
    ["a channel that is known and not loaded", { channel: "gone" }, "channel must be last|pigeon|telex"],
    ["a blank channel", { channel: "" }, "channel must be last|pigeon|telex"],
    ["a channel that is no text", { channel: 1 }, "channel must be last|pigeon|telex"],
    ["any channel where there is none", { channel: "pigeon" }, "channel must be last", { delivery: undefined }],
    ["a channel also where nothing is delivered", { channel: "owl", deliver: false }, /^channel must be/],
    ["a blank model", { model: " " }, "model required"],
    ["a model that is no text", { model: 5 }, "model required"],
    ["a model null", { model: null }, "model required"],
    ["a model that is no text of a mapping", { model: 5 }, "model required", { source: "mapping" }],
    ["a model that is not listed", { model: "open/z" }, noModel, { allowedModels }],
    ["another level", { thinking: "loud" }, levels],
    ["a level that is no text", { thinking: 3 }, levels],
  ];
  for (const [what, fields, message, more] of refused) {
    it(`refuses ${what}`, () => assert.throws(() => prepare(fields, more), { code: "INVALID_REQUEST", message }));
  }
});

describe("the agent of a run", () => {
  const asked: [agentId: unknown, agent: string, checked: string[]][] = [
    [undefined, "main", ["main"]],
    [" ", "main", ["main"]],
    [7, "main", ["main"]],
    [["main"], "main", ["main"]],
    ["ops", "ops", ["ops"]],
    [" OPS ", "ops", ["ops"]],
    ["nobody", "main", ["main"]],
    ["???", "main", ["main"]],
  ];
  for (const [agentId, agent, checked] of asked) {
    it(`${JSON.stringify(agentId)} is ${agent}, checked: ${checked.join()}`, () => {
      const seen: string[] = [];
      const { params } = prepare({ agentId }, { policy: { checkAgentId: (id) => void seen.push(id) } });
      assert.deepEqual([params["agentId"], seen], [agent, checked]);
      assert.equal(params["sessionKey"], `agent:${agent}:hook:1234`);
    });
  }
});

describe("the session of a run", () => {
  const keys: [asked: string | undefined, agentId: string, key: string][] = [
    [undefined, "main", "agent:main:hook:1234"],
    ["Custom:1", "main", "agent:main:custom:1"],
    ["custom:1", "ops", "agent:ops:custom:1"],
    ["agent:main:hook:x", "main", "agent:main:hook:x"],
    ["AGENT:Ops:hook:x", "ops", "agent:ops:hook:x"],
    ["agent:ops:hook:X", "main", "agent:main:agent:ops:hook:x"],
    ["main", "main", "agent:main:main"],
    ["global", "ops", "agent:ops:global"],
  ];
  for (const [sessionKey, agentId, key] of keys) {
    it(`${sessionKey ?? "none"} of ${agentId} is ${key}`, () => {
      const prepared = prepare({ sessionKey, agentId });
      assert.deepEqual([prepared.sessionKey, prepared.params["sessionKey"]], [key, key]);
    });
  }

  for (const sessionKey of ["agent:", "agent:x", "agent:main:", "agent:b@d:x", "a\u0007b", ":::", "x".repeat(600)]) {
    it(`is refused for ${JSON.stringify(sessionKey.slice(0, 20))}`, () =>
      assert.throws(() => prepare({ sessionKey }), { code: "INVALID_REQUEST" }));
  }
});

it("checks the fields, then the agent, then the session key", () => {
  const policy = {
    checkAgentId: () => invalidRequest("agent policy"),
    sessionKey: () => invalidRequest("key policy"),
  };
  const all = { agentId: "ops", sessionKey: "k", model: "" };
  assert.throws(() => prepare(all, { policy }), { message: "model required" });
  assert.throws(() => prepare({ ...all, model: undefined }, { policy }), { message: "agent policy" });
  assert.throws(() => prepare({ sessionKey: "k" }, { policy: { sessionKey: policy.sessionKey } }), {
    message: "key policy",
  });
});

describe("overrides of a transform for an agent run", () => {
  const base = { message: "base", wakeMode: "now", deliver: true, timeoutSeconds: 5 };
  const cases: [what: string, override: WebhookFields, merged: object][] = [
    [
      "texts",
      { message: "m", name: "n", channel: "pigeon", to: "42" },
      { message: "m", name: "n", channel: "pigeon", to: "42" },
    ],
    ["what is no text", { message: 5, name: null, model: ["x"], to: 42 }, {}],
    ["deliver", { deliver: false }, { deliver: false }],
    ["deliver that is no boolean", { deliver: "no" }, {}],
    ["a time", { timeoutSeconds: 9 }, { timeoutSeconds: 9 }],
    ["a time that is none", { timeoutSeconds: -9 }, {}],
    ["wakeMode", { wakeMode: "next-heartbeat" }, { wakeMode: "next-heartbeat" }],
    ["mode", { mode: "next-heartbeat" }, { wakeMode: "next-heartbeat" }],
    ["another wakeMode", { wakeMode: "later" }, {}],
    ["keys of others", { kind: "agent", text: "t" }, {}],
  ];
  for (const [what, override, merged] of cases) {
    it(`applies only valid overrides: ${what}`, () =>
      assert.deepEqual(mergeAgent(base, override), { ...base, ...merged }));
  }
  it("cannot make it more urgent", () => {
    const calm = { ...base, wakeMode: "next-heartbeat" };
    assert.deepEqual(mergeAgent(calm, { mode: "now", wakeMode: "now" }), calm);
  });
});

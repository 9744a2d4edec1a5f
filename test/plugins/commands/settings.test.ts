/** `/model`, `/models`, `/think`, `/verbose`, `/reasoning`, `/activation`, `/send`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Method, notFound } from "@svc/sdk";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { ModelChoice, Models } from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import type { CommandSources } from "../../../plugins/commands/sources.ts";
import { having, KEY, openCommands, principalWith } from "./commands-scene.ts";

const MODELS = [
  { provider: "a", id: "clever", name: "Clever", reasoning: true },
  { provider: "a", id: "plain", name: "Plain" },
  { provider: "b", id: "other", name: "Other" },
] as const satisfies readonly ModelChoice[];

const models: Partial<Models> = {
  list: () => MODELS,
  resolve: (given, agentId) => {
    const ref = given ?? (agentId === "ops" ? "b/other" : "a/plain");
    const found = MODELS.find(({ provider, id }) => ref === id || ref === `${provider}/${id}`);
    return found ? { ...found, api: "x" } : notFound(`no model ${ref}`);
  },
};

interface Scene {
  readonly fields?: Partial<SessionEntry>;
  readonly plugins?: readonly string[];
  readonly without?: keyof CommandSources;
  readonly session?: string;
  /** Default model of the agent: `sessions.patch` clears a choice of it. */
  readonly standard?: string;
}

/** Commands over one session. `patches`: what they changed with `sessions.patch`. */
function open({ fields = {}, plugins = [], without, session = KEY, standard = "a/plain" }: Scene = {}) {
  const patches: object[] = [];
  const sessions: Partial<Sessions> = {
    get: async () => ({ sessionId: "s", updatedAt: 1, ...fields }),
    agentOf: (key) => key.split(":")[1] ?? "main",
    sendPolicy: (_key, entry) => entry?.sendPolicy ?? "allow",
  };
  const info: Partial<GatewayInfo> = {
    plugins: () => plugins.map((id) => ({ id, state: "active" })) as unknown as ReturnType<GatewayInfo["plugins"]>, // only these are read
  };
  const call = async (method: Method, params: object) => {
    const { key, ...patch } = params as { key: string; model?: string | null };
    assert.deepEqual([method.name, key], ["sessions.patch", session]);
    patches.push(patch);
    const [providerOverride, modelOverride] = patch.model?.split("/") ?? [];
    return {
      entry: modelOverride === undefined || patch.model === standard ? {} : { providerOverride, modelOverride },
    };
  };
  const sources = {
    sessions: having(sessions),
    models: having(models),
    info: having(info),
    call: call as unknown as CommandSources["call"], // only the entry of the answer is used
  };
  return { patches, ...openCommands({ ...sources, ...(without && { [without]: having(undefined) }) }) };
}

type Row = [text: string, scene: Scene, reply: RegExp, patch?: object];

const rows: Row[] = [
  ["/model", {}, /^Model: a\/plain\. [^]*\n1\. a\/clever\n2\. a\/plain\n3\. b\/other$/],
  ["/model", { fields: { model: "x", modelProvider: "a" } }, /^Model: a\/x\./],
  ["/model", { fields: { modelOverride: "other", providerOverride: "b", model: "x" } }, /^Model: b\/other\./],
  ["/model 3", {}, /^Model: b\/other\.$/, { model: "b/other" }],
  ["/model clever", {}, /^Model: a\/clever\.$/, { model: "a/clever" }],
  ["/model Default", {}, /^Model: the default, a\/plain\.$/, { model: null }],
  ["/models", {}, /^1\. a\/clever\n2\. a\/plain\n3\. b\/other$/],
  ["/models B", {}, /^3\. b\/other$/],
  ["/think", {}, /^Thinking: default\. Levels: off, minimal,/],
  ["/think", { fields: { thinkingLevel: "low" } }, /^Thinking: low\./],
  ["/think default", {}, /^Thinking: default\.$/, { thinkingLevel: null }],
  ["/think off", {}, /^Thinking: off\.$/, { thinkingLevel: "off" }],
  ["/think MAX", { fields: { modelOverride: "a/clever" } }, /^Thinking: high\.$/, { thinkingLevel: "high" }],
  ["/verbose", {}, /^Verbose: default\.$/],
  ["/verbose full", {}, /^Verbose: full\.$/, { verboseLevel: "full" }],
  ["/verbose on", { plugins: ["nodes"] }, /^Verbose: on\.$/, { verboseLevel: "on" }],
  ["/verbose default", {}, /^Verbose: default\.$/, { verboseLevel: null }],
  ["/reasoning", {}, /^Reasoning: off\.$/],
  ["/reasoning Stream", {}, /^Reasoning: stream\.$/, { reasoningLevel: "stream" }],
  ["/reasoning off", {}, /^Reasoning: off\.$/, { reasoningLevel: "off" }],
  ["/activation", { fields: { chatType: "group" } }, /^Activation: as configured\.$/],
  ["/activation always", { fields: { groupId: "#team" } }, /^Activation: always\.$/, { groupActivation: "always" }],
  ["/send", {}, /^Sending: on \(default\)\.$/],
  ["/send", { fields: { sendPolicy: "deny" } }, /^Sending: off\.$/],
  ["/send on", {}, /^Sending: on\.$/, { sendPolicy: "allow" }],
  ["/send default", {}, /^Sending: default\.$/, { sendPolicy: null }],
  [
    "/send off",
    {},
    /^Sending: off\. .*: svc sessions patch agent:main:main --send-policy allow$/,
    { sendPolicy: "deny" },
  ],
];

describe("a setting of the session", () => {
  for (const [text, scene, reply, patch] of rows)
    it(`${text} in ${JSON.stringify(scene)}`, async () => {
      const { says, patches } = open(scene);
      assert.match(await says(text), reply);
      assert.deepEqual(patches, patch ? [patch] : []);
    });

  it("of another agent names the model of that agent", async () => {
    const sessionKey = "agent:ops:main";
    const { says } = open({ session: sessionKey, standard: "b/other" });
    const replies = [];
    for (const text of ["/model", "/model a/plain", "/model 3", "/model default"])
      replies.push((await says(text, { sessionKey })).split("\n")[0]);
    assert.deepEqual(replies, [
      "Model: b/other. Choose another: /model <name or number>; /model default.",
      "Model: a/plain.",
      "Model: b/other.",
      "Model: the default, b/other.",
    ]);
  });

  it("is set the same way when the message is repeated", async () => {
    const { says, patches } = open();
    for (const _again of [1, 2]) assert.equal(await says("/model 1"), "Model: a/clever.");
    assert.deepEqual(patches, [{ model: "a/clever" }, { model: "a/clever" }]);
  });

  it("in a group is found by its key, too", async () => {
    const text = await open().says("/activation mention", { sessionKey: KEY }).catch(String);
    assert.match(text, /is for groups/);
    const shown = await open().says("/activation", { sessionKey: "agent:main:pigeon:group:#team" });
    assert.match(shown, /^Activation:/);
  });
});

describe("a setting that is refused", () => {
  const refusals: [text: string, scene: Scene, reason: RegExp][] = [
    ["/model 9", {}, /no model number 9; \/models lists 3/],
    ["/model nothing", {}, /no model "nothing"; \/models lists them/],
    ["/models c", {}, /no models of "c"; providers: a, b/],
    ["/think loud", {}, /does not know "loud"; levels: off, minimal/],
    ["/think high", {}, /a\/plain is no reasoning model, so the level high has no effect/],
    ["/verbose loud", {}, /choices: off, on, full, default/],
    ["/verbose on", {}, /has no effect without the plugin nodes/],
    ["/reasoning on", {}, /has no effect: reasoning is only sent as it is written/],
    ["/reasoning loud", {}, /choices: off, stream, default/],
    ["/activation always", {}, /is for groups/],
    ["/activation never", { fields: { chatType: "group" } }, /choices: mention, always/],
    ["/send never", {}, /choices: on, off, default/],
  ];
  for (const [text, scene, message] of refusals)
    it(`${text} in ${JSON.stringify(scene)}`, async () => {
      const { says, patches } = open(scene);
      await assert.rejects(says(text), { code: "INVALID_REQUEST", message });
      assert.deepEqual(patches, []);
    });

  it("/send from anyone but the owner", async () => {
    const { says, patches } = open();
    assert.match(await says("/send off", { principal: principalWith("operator.write") }), /^Only the owner/);
    assert.deepEqual(patches, []);
  });

  const missing: [text: string, without: keyof CommandSources, plugin: string][] = [
    ["/model", "models", "models"],
    ["/models", "models", "models"],
    ["/model default", "sessions", "sessions"],
    ["/think low", "sessions", "sessions"],
    ["/verbose", "sessions", "sessions"],
    ["/reasoning off", "sessions", "sessions"],
    ["/activation", "sessions", "sessions"],
    ["/send on", "sessions", "sessions"],
  ];
  for (const [text, without, plugin] of missing)
    it(`${text} without the plugin ${plugin}`, async () =>
      assert.match(
        await open({ without }).says(text),
        new RegExp(` needs the plugin ${plugin}, which is not running`),
      ));
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionEntry } from "@svc/sdk/sessions";
import { freshEntry, mergeable, modelOf } from "../../../../plugins/sessions/store/entries.ts";

const defaults = { modelProvider: "dp", model: "dm", contextTokens: 1000 };
const none = { modelProvider: null, model: null, contextTokens: null };

describe("freshEntry", () => {
  /** Fields of protocol/stores.md §1 that a reset keeps. */
  const kept: Partial<SessionEntry> = {
    label: "kept",
    thinkingLevel: "high",
    verboseLevel: "on",
    reasoningLevel: "stream",
    elevatedLevel: "full",
    execHost: "node",
    execSecurity: "full",
    execAsk: "off",
    execNode: "n",
    responseUsage: "tokens",
    contextTokens: 10,
    sendPolicy: "deny",
    origin: { label: "o" },
    lastChannel: "irc",
    lastTo: "bob",
    skillsSnapshot: { prompt: "p", skills: [] },
    modelProvider: "p",
    model: "m",
  };
  /** All others. */
  const lost: SessionEntry = {
    sessionId: "old",
    updatedAt: 1,
    sessionFile: "f",
    displayName: "d",
    spawnedBy: "s",
    spawnDepth: 1,
    forkedFromParent: true,
    systemSent: true,
    abortedLastRun: true,
    ttsAuto: "always",
    providerOverride: "po",
    modelOverride: "mo",
    authProfileOverride: "a",
    inputTokens: 5,
    outputTokens: 6,
    totalTokens: 7,
    totalTokensFresh: false,
    cacheRead: 8,
    cacheWrite: 9,
    compactionCount: 2,
    groupActivation: "always",
    queueMode: "steer",
    chatType: "group",
    channel: "irc",
    groupId: "g",
    subject: "s",
    groupChannel: "gc",
    space: "sp",
    deliveryContext: { channel: "irc" },
    lastAccountId: "acc",
    lastThreadId: "t",
    lastHeartbeatText: "h",
    systemPromptReport: {},
    acp: {},
  };
  const counters = { inputTokens: 0, outputTokens: 0, totalTokens: 0, totalTokensFresh: true };
  const expected = { sessionId: "new", updatedAt: 2, ...counters };

  it("keeps exactly the fields a reset keeps", () => {
    const entry = freshEntry({ ...lost, ...kept }, { sessionId: "new", now: 2, defaults });
    assert.deepEqual(entry, { ...kept, ...expected });
  });

  it("starts a missing session with no tokens and the default model", () => {
    const entry = freshEntry(undefined, { sessionId: "new", now: 2, defaults });
    assert.deepEqual(entry, { ...expected, modelProvider: "dp", model: "dm" });
  });
});

describe("modelOf", () => {
  const rows: [what: string, entry: Partial<SessionEntry>, model: object][] = [
    ["the last used one", { model: "m", modelProvider: "p", modelOverride: "mo" }, { modelProvider: "p", model: "m" }],
    ["the last used one without its provider", { model: "m" }, { model: "m" }],
    ["the chosen one", { modelOverride: "mo", providerOverride: "po" }, { modelProvider: "po", model: "mo" }],
    ["the chosen one of the default provider", { modelOverride: "mo" }, { modelProvider: "dp", model: "mo" }],
    ["the default", {}, { modelProvider: "dp", model: "dm" }],
  ];
  for (const [what, entry, model] of rows) it(`is ${what}`, () => assert.deepEqual(modelOf(entry, defaults), model));

  it("is empty without a default", () => assert.deepEqual(modelOf({}, none), {}));
});

describe("mergeable", () => {
  it("distinguishes a cleared label from an unchanged one", () => {
    const gone: Partial<SessionEntry> = Object.fromEntries([["label", undefined]]);
    assert.deepEqual(mergeable(gone).label, { value: null });
    assert.equal(mergeable({}).label, undefined);
  });

  it("refuses a label that a column cannot hold", () =>
    assert.throws(() => mergeable({ label: "a\0" }), { code: "INVALID_REQUEST" }));
});

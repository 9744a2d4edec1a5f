/** Requests in chats: who may decide, which section of the configuration applies, and the order of question and outcome. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExtensionView } from "@svc/sdk";
import type { ApprovalForwarder, ChatDecision, ForwardedOutcome } from "@svc/sdk/approvals";
import type { ApprovalRecord, Decision } from "../../../plugins/approvals/approval-rows.ts";
import { askedCommand } from "../../../plugins/approvals/asking.ts";
import { createChatDecisions, createChatForwarding } from "../../../plugins/approvals/chats.ts";
import { type ApprovalsConfig, withoutApprovers } from "../../../plugins/approvals/config.ts";
import { nodeRequest, requester } from "./scene.ts";

const pending: ApprovalRecord = {
  ...askedCommand(nodeRequest),
  id: "req-1",
  status: "pending",
  decision: null,
  reason: null,
  requester,
  createdAt: 0,
  expiresAt: 60_000,
  resolvedAt: null,
  resolvedBy: null,
  usedAt: null,
  grant: null,
  owner: null,
};
const expired = (reason: string): ApprovalRecord => ({ ...pending, status: "expired", reason });

describe("the outcome of a request", () => {
  const told: ForwardedOutcome[] = [];
  let shown: (answer: boolean) => void = () => undefined;
  const forwarder: ApprovalForwarder = {
    ask: () => new Promise((resolve) => (shown = resolve)),
    settled: async (outcome) => void told.push(outcome),
  };
  const view = {
    list: () => [{ id: "one", plugin: "one", value: forwarder }],
    call: (_: unknown, work: (one: ApprovalForwarder) => unknown) => work(forwarder),
  } as unknown as ExtensionView<ApprovalForwarder>; // the parts that are used
  const log = { info: () => undefined, warn: () => undefined };
  const chats = createChatForwarding({ view, config: () => ({ exec: { enabled: true } }), log });

  it("comes after the request, however long a chat takes to get it, and once", async () => {
    const asked = chats.ask(pending);
    const settled = [chats.settled(expired("cancelled")), chats.settled(expired("cancelled"))];
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(told.splice(0), []);
    shown(true);
    await Promise.all([asked, ...settled]);
    assert.deepEqual(
      told.splice(0).map(({ id, decision, reason }) => [id, decision, reason]),
      [["req-1", null, "cancelled"]],
    );
  });

  it("is told of requests that no chat got only if a restart ended them", async () => {
    await Promise.all([chats.settled(expired("time")), chats.settled(expired("restart"))]);
    assert.deepEqual(
      told.splice(0).map(({ reason }) => reason),
      ["restart"],
    );
  });
});

describe("a decision in a chat", () => {
  const decided: Decision[] = [];
  const decisions = (config: ApprovalsConfig, record = pending) =>
    createChatDecisions({
      queue: { decide: async (_, decision) => ({ won: decided.push(decision) > 0, record }) },
      store: { get: async () => record, list: async () => [] },
      config: () => config,
    });
  const by = (accountId: string, senderId: string): ChatDecision => ({
    id: "req-1",
    decision: "allow-always",
    channel: "matrix",
    accountId,
    isDefaultAccount: accountId === "home",
    senderId,
    principal: { id: "p", role: "operator", scopes: [], provenance: "plugin", epoch: 0 },
    by: "Ann",
  });

  it("counts for the account that the entry of the list is about", async () => {
    const rows: [entry: string, accountId: string, senderId: string, counts: boolean][] = [
      ["matrix:@ann:here", "home", "@ann:here", true],
      [" matrix:@ann:here ", "home", "@ann:here", true],
      ["matrix:@ann:here", "work", "@ann:here", false],
      ["matrix/work:@ann:here", "work", "@ann:here", true],
      ["matrix/work:@ann:here", "home", "@ann:here", false],
      ["matrix/home:@ann:here", "home", "@ann:here", true],
      ["matrix:work:@ann:here", "work", "@ann:here", false],
      ["telegram:@ann:here", "home", "@ann:here", false],
    ];
    for (const [entry, accountId, senderId, counts] of rows) {
      const { decide } = decisions({ exec: { enabled: true, approvers: [entry] } });
      const decision = decide(by(accountId, senderId));
      if (counts) await decision;
      else await assert.rejects(decision, { code: "FORBIDDEN", message: /^only approvers decide/ }, entry);
      assert.equal(decided.splice(0).length, counts ? 1 : 0, `${entry} in ${accountId}`);
    }
  });

  it("about a command is of approvals.exec, about anything else of approvals.plugin, whatever kind a plugin names", async () => {
    const rows: [kind: string, section: "exec" | "plugin"][] = [
      ["exec", "exec"],
      ["question:tool:exec", "exec"],
      ["question:other:exec", "plugin"],
      ["question:exec", "plugin"],
    ];
    for (const [kind, section] of rows) {
      const record = { ...pending, kind };
      const other = section === "exec" ? "plugin" : "exec";
      const rules = { enabled: true, approvers: ["matrix:ann"] };
      await decisions({ [section]: rules }, record).decide(by("home", "ann"));
      await assert.rejects(
        decisions({ [other]: rules }, record).decide(by("home", "ann")),
        { code: "FORBIDDEN" },
        kind,
      );
    }
  });
});

describe("requests in chats where nobody may decide", () => {
  const listed = { enabled: true, approvers: ["matrix:ann"] };
  const rows: [what: string, approvals: ApprovalsConfig | undefined, paths: string[]][] = [
    ["no list", { exec: { enabled: true } }, ["approvals.exec.approvers"]],
    ["an empty list", { exec: listed, plugin: { ...listed, approvers: [] } }, ["approvals.plugin.approvers"]],
    ["lists", { exec: listed, plugin: listed }, []],
    ["off", { exec: { enabled: false }, plugin: {} }, []],
    ["no section", undefined, []],
  ];
  for (const [what, approvals, paths] of rows) {
    it(`are warned about: ${what}`, () => {
      const found = withoutApprovers({ config: approvals ? { approvals } : {}, contributions: () => [] });
      assert.deepEqual(
        found.map(({ path }) => path),
        paths,
      );
    });
  }
});

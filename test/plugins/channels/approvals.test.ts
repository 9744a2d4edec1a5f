/** Approval requests in chats: shown, decided by buttons and words, and settled in the same message. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineContract, definePlugin, type ServicesOf, Type, unavailable } from "@svc/sdk";
import { execApproval } from "@svc/sdk/approvals";
import type { ChannelCapabilities } from "@svc/sdk/channels";
import { ChatCommands } from "@svc/sdk/commands";
import { Approver } from "@svc/sdk/gateway";
import { plugins } from "@svc/sdk/plugins";
import { createFakeClock } from "@svc/sdk/testing";
import { createApprovalChats } from "../../../plugins/channels/approvals.ts";
import { directory } from "../../directory.ts";
import { able } from "./able.ts";
import { until } from "./scene.ts";

const ANN = "agent:main:main";
const TEAM = { channel: "pigeon", to: "#ops" };

/** A gateway that forwards requests; ann has written once, so her session has a chat. */
async function forwarding(t: Parameters<typeof able>[0], exec: object, more: Partial<Parameters<typeof able>[1]> = {}) {
  const scene = await able(t, {
    plugins: ["approvals"],
    config: { approvals: { exec: { enabled: true, approvers: ["pigeon:ann"], ...exec } } },
    capabilities: { markup: "markdown" } satisfies Partial<ChannelCapabilities>,
    access: { allowFrom: ["ann", "bob"], streaming: "off" },
    ...more,
  });
  await scene.bird.says("hi");
  await until(() => scene.messages.length === 1, "the answer");
  scene.messages.length = 0;
  const request = (id: string, command = "rm -rf build", params: object = {}) =>
    scene.client.call(execApproval.request, {
      id,
      command,
      sessionKey: ANN,
      agentId: "main",
      cwd: "/src",
      timeoutMs: 60_000,
      ...params,
    });
  const press = (value: string, sender = "ann") =>
    scene.bird.says("Allow once", {
      sender: { id: sender, name: sender },
      event: { kind: "button", messageId: "m1", value },
    });
  return { ...scene, request, press };
}

describe("an approval request in a chat", { timeout: 120_000 }, () => {
  it("is shown in the chat of its session with the whole command, and decided by a button", async (t) => {
    const { messages, edits, request, press, model } = await forwarding(t, {});
    const decided = request("req-1", "echo '```' > file");
    const question = await until(() => messages[0], "the question");
    assert.match(
      question.text,
      /^Approval needed:\n````\necho '```' > file\n````\n```\ndirectory: \/src\nagent: main\nsession: .*\n```\nValid for 1 min\. "Always" allows exactly this for 90 days\.\nDecide with the buttons, or: \/approve req-1 /,
    );
    assert.deepEqual(question.to, "ann");
    assert.deepEqual(
      question.buttons?.flat().map(({ label, value, style }) => [label, value, style]),
      [
        ["Allow once", "approve:req-1:allow-once", "primary"],
        ["Always allow", "approve:req-1:allow-always", undefined],
        ["Deny", "approve:req-1:deny", "danger"],
      ],
    );
    assert.equal((await press("approve:req-1:allow-once")).accepted, true);
    assert.equal((await decided).decision, "allow-once");
    const outcome = await until(() => edits[0], "the outcome");
    assert.match(outcome.text, /^Allowed once by ann\.\n````\necho/);
    assert.deepEqual([outcome.messageId, outcome.buttons], ["m1", undefined]);
    await press("approve:req-1:deny");
    await until(() => messages.length === 2, "the answer to the second press");
    assert.match(messages[1]?.text ?? "", /^Not decided: ann has already decided: allow-once\.$/);
    assert.equal(model.requests.length, 1, "no press reaches the agent");
  });

  it("is decided only by listed people, whoever else presses", async (t) => {
    const { messages, request, press } = await forwarding(t, {});
    const decided = request("req-2");
    await until(() => messages.length === 1, "the question");
    await press("approve:req-2:allow-once", "bob");
    const refusal = await until(() => messages[1], "the refusal");
    assert.match(
      refusal.text,
      /^Not decided: only approvers decide; the owner lists them in approvals\.exec\.approvers\.$/,
    );
    await press("approve:req-2:deny");
    assert.equal((await decided).decision, "deny");
  });

  it("is decided by words, with the beginning of its id, and answers wrong words", async (t) => {
    const { messages, request, bird } = await forwarding(t, {}, { plugins: ["approvals", "commands"] });
    const decided = request("4f1c9a2e-0000-4000-8000-000000000001");
    const question = await until(() => messages[0], "the question");
    assert.match(question.text, /\/approve 4f1c9a2e allow-once\|allow-always\|deny$/);
    await bird.says("/approve 4f1c9a2e maybe");
    await until(
      () => messages.some(({ text }) => text === "Write: /approve <id> allow-once|allow-always|deny"),
      "the usage",
    );
    await bird.says("/approve 4f1c9a2e allow-once", {
      sender: { id: "bob", name: "Bob" },
      chat: { type: "direct", id: "bob" },
    });
    await until(
      () => messages.some(({ text }) => text.startsWith("Not decided: only approvers decide")),
      "the refusal",
    );
    await bird.says("/approve 4f1c9a2e allow-always");
    assert.equal((await decided).decision, "allow-always");
  });

  it("goes to the targets, to both or to the session alone, as its mode says, and to nobody by its filters", async (t) => {
    const targets = [TEAM, { channel: "pigeon", to: "ann" }, { channel: "crow", to: "x" }];
    const both = await forwarding(t, { mode: "both", targets });
    void both.request("req-3").catch(() => undefined);
    await until(() => both.messages.length === 2, "both");
    assert.deepEqual(both.messages.map(({ to }) => to).toSorted(), ["#ops", "ann"], "each chat once");
    const only = await forwarding(t, { mode: "targets", targets: [TEAM] });
    void only.request("req-4").catch(() => undefined);
    await until(() => only.messages.length === 1, "the target");
    assert.equal(only.messages[0]?.to, "#ops");
    const filtered = await forwarding(t, { agentFilter: ["other"], targets });
    void filtered.request("req-5").catch(() => undefined);
    const elsewhere = await forwarding(t, { sessionFilter: ["ops"] });
    void elsewhere.request("req-6").catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual([filtered.messages, elsewhere.messages], [[], []]);
  });

  it("says in the same message that it has expired, and a late press changes nothing", async (t) => {
    const clock = createFakeClock();
    const { messages, edits, request, press } = await forwarding(t, {}, { gateway: { clock } });
    const decided = request("req-7");
    await until(() => messages.length === 1, "the question");
    await clock.advance(60_000);
    assert.equal((await decided).decision, null);
    const outcome = await until(() => edits[0], "the outcome");
    assert.match(outcome.text, /^Expired: nobody decided in time\./);
    await press("approve:req-7:allow-once");
    await until(() => messages.length === 2, "the answer");
    assert.match(messages[1]?.text ?? "", /^Not decided: this request has expired/);
  });

  it("is one of many parts when the command is long, with the buttons below the last part", async (t) => {
    const { messages, request } = await forwarding(t, {});
    const command = Array.from({ length: 200 }, (_, at) => `step-${at}`).join(" && ");
    void request("req-8", command).catch(() => undefined);
    await until(() => messages.at(-1)?.buttons !== undefined, "the buttons");
    assert.ok(messages.length >= 2);
    const shown = messages.map(({ text }) => text.replaceAll("```", "")).join(" ");
    for (const step of command.split(" && ")) assert.ok(shown.includes(step), step);
  });

  it("contains the texts of others in code blocks only, each fact on one line", async (t) => {
    const { messages, request } = await forwarding(t, {});
    const cwd = "/src\nagent: trusted\n``` [x](https://example.org)";
    void request("req-9", "ls", { cwd }).catch(() => undefined);
    const { text } = await until(() => messages[0], "the question");
    const [, command, facts, after] = /^Approval needed:\n```\n(.*)\n```\n(`{4}\n[^]*\n`{4})\n([^]*)$/.exec(text) ?? [];
    assert.equal(command, "ls");
    assert.deepEqual(
      facts?.split("\n").map((line) => line.split(":")[0]),
      ["````", "directory", "agent", "session", "````"],
    );
    assert.match(after ?? "", /^Valid for 1 min\. [^`]*$/);
  });

  it("mentions buttons only where the network has them", async (t) => {
    const { messages, request } = await forwarding(t, {}, { capabilities: { buttons: false } });
    void request("req-10").catch(() => undefined);
    const { text, buttons } = await until(() => messages[0], "the question");
    assert.deepEqual(
      [text.match(/Decide with.*/)?.[0], buttons],
      ["Decide with /approve req-10 allow-once|allow-always|deny", undefined],
    );
  });

  it("goes to the chat that it names, if that is one of a channel", async (t) => {
    const { messages, request } = await forwarding(t, {});
    const turnSourceTo = "#ops";
    void request("req-11", "ls", { turnSourceTo, turnSourceChannel: "pigeon", turnSourceThreadId: 7 }).catch(() => {});
    const named = await until(() => messages[0], "the question");
    assert.deepEqual([named.to, named.threadId], ["#ops", "7"]);
    void request("req-12", "ls", { turnSourceTo, turnSourceChannel: "webchat" }).catch(() => undefined);
    assert.equal((await until(() => messages[1], "the other question")).to, "ann");
  });

  it("has its outcome in its message after a reload of the plugin, and not in that of a similar id", async (t) => {
    const { messages, edits, request, client, bird } = await forwarding(t, {});
    const decided = request("req");
    void request(`req:${"0".repeat(16)}`).catch(() => undefined);
    await until(() => messages.length === 2, "the questions");
    await client.call(plugins.reload, { id: "channels" });
    await until(() => bird.runs.length === 2 && bird.running.get("default"), "the account again");
    await client.call(execApproval.resolve, { id: "req", decision: "deny" });
    await decided;
    assert.match((await until(() => edits[0], "the outcome")).text, /^Denied by /);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(edits.length, 1);
  });

  it("says in its message that the gateway was restarted", async (t) => {
    const stateDir = directory(t);
    const before = await forwarding(t, {}, { stateDir });
    void before.request("req-13").catch(() => undefined);
    await until(() => before.messages.length === 1, "the question");
    await before.gateway.stop();
    const { edits } = await able(t, { plugins: ["approvals"], stateDir });
    const outcome = await until(() => edits[0], "the outcome");
    assert.match(outcome.text, /^Expired: the gateway was restarted before a decision\./);
  });

  it("says in its message that it was withdrawn", async (t) => {
    const leaving = new AbortController();
    const any = { summary: "asks", scope: "operator.read", params: Type.Unknown(), result: Type.Unknown() } as const;
    const asker = definePlugin({
      id: "asker",
      api: "^1.0.0",
      requires: { approver: Approver },
      setup(gateway) {
        const question = { title: "tell", subject: {}, kind: "tell", askedBy: "asker", sessionKey: ANN };
        gateway.serve(defineContract("asker", { ask: any }), {
          ask: () => gateway.services.approver.ask({ ...question, signal: leaving.signal }),
        });
      },
    });
    const config = { approvals: { plugin: { enabled: true, approvers: ["pigeon:ann"] } } };
    const { messages, edits, client } = await forwarding(t, {}, { plugins: ["approvals", asker], config });
    const answer = client.request("asker.ask");
    await until(() => messages.length === 1, "the question");
    leaving.abort();
    await answer;
    assert.match((await until(() => edits[0], "the outcome")).text, /^Withdrawn: a decision is no longer needed\./);
  });

  it("answers each account that a button without effect was pressed in", async (t) => {
    const more = { accounts: ["default", "two"].map((id) => ({ id, allowFrom: ["ann"], settings: {} })) };
    const { bird, messages } = await able(t, { plugins: ["approvals"], more });
    const event = { kind: "button", messageId: "m1", value: "approve:none:deny" } as const;
    for (const account of ["default", "two"]) await bird.says("Deny", { account, id: "update:1", event });
    await until(() => messages.length === 2, "both answers");
    assert.deepEqual(messages.map(({ accountId }) => accountId).toSorted(), ["default", "two"]);
  });

  it("is decided with /approve at once, by listed people who may only read", async (t) => {
    const requires = { commands: ChatCommands };
    const found: { inside?: ServicesOf<typeof requires> } = {};
    const inner = definePlugin({
      id: "inner",
      api: "^1.0.0",
      requires,
      setup: (gateway) => gateway.start(() => void (found.inside = gateway.services)),
    });
    const { request, messages } = await forwarding(t, { approvers: ["pigeon:eve"] }, { plugins: ["approvals", inner] });
    const decided = request("req-14");
    await until(() => messages.length === 1, "the question");
    const { commands } = found.inside ?? assert.fail();
    const parsed = commands.parse("/approve req-14 allow-once") ?? assert.fail();
    assert.equal(parsed.urgent, true);
    const by = (id: string) =>
      commands.run(parsed, {
        sessionKey: ANN,
        principal: { id, role: "operator", scopes: ["operator.read"], provenance: "plugin", epoch: 0 },
        runId: id,
        surface: "channel",
        address: { channel: "pigeon", accountId: "default" },
        sender: { id },
      });
    assert.match(JSON.stringify(await by("bob")), /Not decided: only approvers decide/);
    assert.deepEqual(await by("eve"), { reply: "Allowed once." });
    assert.equal((await decided).decision, "allow-once");
  });
});

it("a chat that cannot get a request is logged with the reason", async () => {
  const warned: object[] = [];
  const { forwarder } = createApprovalChats({
    accounts: { channelId: () => undefined, missing: () => unavailable("plugins are loading: pigeon") },
    log: { warn: (fields: object) => void warned.push(fields) },
  } as unknown as Parameters<typeof createApprovalChats>[0]); // the parts that are used
  const request = { sessionKey: null } as unknown as Parameters<typeof forwarder.ask>[0]["request"];
  const times = { createdAtMs: 0, expiresAtMs: 1 };
  assert.equal(await forwarder.ask({ id: "req-15", request, ...times, inSession: false, targets: [TEAM] }), false);
  assert.deepEqual(warned, [{ ...TEAM, reason: "plugins are loading: pigeon" }]);
});

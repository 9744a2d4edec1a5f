/** Approval requests in chats: shown, decided by buttons and words, and settled in the same message. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { execApproval } from "@svc/sdk/approvals";
import type { ChannelCapabilities } from "@svc/sdk/channels";
import { createFakeClock } from "@svc/sdk/testing";
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
  const request = (id: string, command = "rm -rf build", sessionKey = ANN) =>
    scene.client.call(execApproval.request, {
      id,
      command,
      sessionKey,
      agentId: "main",
      cwd: "/src",
      timeoutMs: 60_000,
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
    assert.match(question.text, /^Approval needed:\n````\necho '```' > file\n````\nAgent: main\nDirectory: \/src\n/);
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
});

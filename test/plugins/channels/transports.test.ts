/** Accounts of a channel that another plugin connects. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import {
  channelLogin,
  channels,
  ChannelTransport,
  type ChannelRun,
  defineTransport,
  outbound,
  type OutboundMessage,
  webLogin,
} from "@svc/sdk/channels";
import { plugins } from "@svc/sdk/plugins";
import { pigeon, untilStopped } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

const ACCOUNTS = [{}, { id: "far", transport: { id: "air", package: "@example/air" } }];

const TEXT = "The first sentence has thirty letters.\n\nThe second one follows.";

/** A plugin that connects accounts of `pigeon` by air. */
function air() {
  const sent: Pick<OutboundMessage, "accountId" | "to" | "text">[] = [];
  const runs: ChannelRun[] = [];
  const transport = defineTransport({
    connects: "a bird that flies",
    capabilities: { chats: ["direct"], maxTextChars: 40 },
    target: (text) => (text.startsWith("air:") ? text : undefined),
    async run(run) {
      runs.push(run);
      run.report({ state: "connected" });
      await untilStopped(run);
    },
    async send({ accountId, to, text }) {
      sent.push({ accountId, to, text });
      return { messageId: `a${sent.length}` };
    },
    login: {
      start: () => ({
        kind: "form",
        message: "A number?",
        fields: [{ key: "number", label: "Number", optional: true }],
      }),
      next: async ({ state, answers }) =>
        state === "shown"
          ? { kind: "done", message: "linked", config: { transport: "air" } }
          : { kind: "show", message: answers["number"] ?? "Scan this", qr: "AIR-1", state: "shown" },
    },
  });
  const plugin = definePlugin({
    id: "air",
    api: "^1.0.0",
    setup: (gateway) => gateway.extend(ChannelTransport, "pigeon.air", transport),
  });
  return { plugin, sent, runs };
}

describe("a transport", () => {
  it("serves the accounts that name it, within its own capabilities", async (t) => {
    const [bird, wings] = [pigeon({ accounts: ACCOUNTS }), air()];
    const { client } = await startScene(t, [bird.plugin, wings.plugin]);
    await until(() => wings.runs.length === 1 && bird.running.size === 1, "both accounts");
    assert.deepEqual([[...bird.running.keys()], wings.runs[0]?.accountId], [["default"], "far"]);
    const send = (accountId: string, to: string, idempotencyKey: string) =>
      client.call(outbound.send, { channel: "pigeon", accountId, to, message: TEXT, idempotencyKey });
    await send("default", "ann", "1");
    await send("far", "air:ann", "2");
    assert.deepEqual(bird.sent, [{ account: "default", to: "ann", text: TEXT }]);
    assert.deepEqual(
      wings.sent.map(({ accountId, to, text }) => [accountId, to, text.trim()]),
      [
        ["far", "air:ann", "The first sentence has thirty letters."],
        ["far", "air:ann", "The second one follows."],
      ],
    );
    await assert.rejects(send("far", "ann", "3"), { message: /"ann" is not an address of channel pigeon/ });
    const receipt = await wings.runs[0]?.receive({
      chat: { type: "direct", id: "air:ann" },
      sender: { id: "ann" },
      text: "hello",
    });
    assert.equal(receipt?.accepted, true);
    await until(() => wings.sent.length > 2, "the answer");
    assert.equal(wings.sent.at(-1)?.to, "air:ann");
    assert.equal(bird.sent.length, 1);
  });

  it("runs its accounts again after a reload of either plugin, and no others", async (t) => {
    const [bird, wings] = [pigeon({ accounts: ACCOUNTS }), air()];
    const { client } = await startScene(t, [bird.plugin, wings.plugin]);
    await until(() => wings.runs.length === 1 && bird.running.size === 1, "both accounts");
    await client.call(plugins.reload, { id: "air" });
    await until(() => wings.runs.length === 2 && wings.runs[0]?.signal.aborted, "the second run");
    assert.deepEqual(bird.runs, ["default"]);
    await client.call(plugins.reload, { id: "pigeon" });
    await until(() => wings.runs.length === 3 && bird.runs.length === 2, "both accounts again");
    assert.deepEqual(
      wings.runs.map(({ signal }) => signal.aborted),
      [true, true, false],
    );
  });

  it("that no plugin contributes is named with the command that installs it, and keeps messages", async (t) => {
    const bird = pigeon({ accounts: ACCOUNTS });
    const { client } = await startScene(t, [bird.plugin]);
    await until(() => bird.running.size === 1, "the account of the channel");
    const { channelAccounts } = await client.call(channels.status, {});
    const far = channelAccounts["pigeon"]?.find(({ accountId }) => accountId === "far");
    assert.deepEqual(
      [far?.running, far?.warnings],
      [
        false,
        [{ message: "no plugin contributes the transport pigeon.air", next: "svc plugins install @example/air" }],
      ],
    );
    const missing = { code: "UNAVAILABLE", message: /pigeon\.air; next: svc plugins install @example\/air$/ };
    const letter = { channel: "pigeon", accountId: "far", to: "ann", message: "hi", idempotencyKey: "1" };
    await assert.rejects(client.call(outbound.send, letter), missing);
    await assert.rejects(client.call(channelLogin.start, { channel: "pigeon", accountId: "far" }), missing);
    assert.deepEqual(bird.runs, ["default"]);
  });
});

describe("a login with several ways", () => {
  const own = { start: () => ({ kind: "form", message: "A token?", fields: [{ key: "token", label: "Token" }] }) };

  async function scene(t: TestContext, accounts: Parameters<typeof pigeon>[0] = {}) {
    const login = { ...own, next: async () => ({ kind: "done", message: "own", config: {} }) };
    const bird = pigeon({
      accounts: [{ configured: false }],
      ...accounts,
      more: { login, connects: "a stork" } as object,
    });
    return startScene(t, [bird.plugin, air().plugin]);
  }

  it("asks which one, and continues with its steps", async (t) => {
    const { client } = await scene(t);
    const begun = await client.call(channelLogin.start, { channel: "pigeon" });
    assert.deepEqual(begun.step, {
      kind: "form",
      message: "Pigeon can be connected in several ways.",
      fields: [{ key: "transport", label: "Way", help: "air: a bird that flies; empty: a stork", optional: true }],
    });
    const next = (answers: Record<string, string>) =>
      client.call(channelLogin.next, { loginId: begun.loginId, answers });
    await assert.rejects(next({ transport: "sea" }), { message: '"sea" is no way to connect; ways: air, or empty' });
    assert.equal((await next({ transport: "air" })).step.message, "A number?");
    assert.deepEqual((await next({ number: "123" })).step, { kind: "show", message: "123", qr: "AIR-1" });
    const other = await client.call(channelLogin.start, { channel: "pigeon" });
    const { step } = await client.call(channelLogin.next, { loginId: other.loginId, answers: {} });
    assert.equal(step.message, "A token?");
  });

  it("shows the QR code of a transport to clients that know only web.login", async (t) => {
    const { client } = await scene(t);
    const { qrDataUrl, message } = await client.call(webLogin.start, {});
    assert.match(qrDataUrl ?? "", /^data:image\/svg\+xml;base64,/);
    assert.equal(message, "Scan this");
  });

  it("keeps the way of an account that has settings", async (t) => {
    const { client } = await scene(t, { accounts: ACCOUNTS });
    const begin = async (accountId: string) => client.call(channelLogin.start, { channel: "pigeon", accountId });
    assert.equal((await begin("default")).step.message, "A token?");
    assert.equal((await begin("far")).step.message, "A number?");
    assert.equal((await begin("new")).step.message, "Pigeon can be connected in several ways.");
  });
});

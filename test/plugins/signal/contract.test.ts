/** The contract of a channel against crabline's Signal daemon, which knows messages, reactions, typing and receipts. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { startSignalServer } from "@openclaw/crabline";
import { channelContract } from "@svc/sdk/testing";
import { until } from "../../until.ts";
import { scene } from "./scene.ts";
import { ADA, ADA_NUMBER } from "./server.ts";

async function crabline(t: TestContext, more: { readonly sendReadReceipts?: boolean } = {}) {
  const directory = await mkdtemp(join(tmpdir(), "svc-crabline-"));
  const calls: { readonly method: string; readonly params: Readonly<Record<string, unknown>> }[] = [];
  const server = await startSignalServer({
    recorderPath: join(directory, "events.jsonl"),
    onEvent({ path, body }) {
      if (path === "/api/v1/rpc") calls.push(Object(body));
    },
  });
  t.after(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });
  const { account, adminToken, baseUrl: url, endpoints } = server.manifest;
  const says = async (text: string) => {
    const response = await fetch(endpoints.adminInboundUrl, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: JSON.stringify({ sourceNumber: ADA_NUMBER, sourceUuid: ADA, sourceName: "Ada", text }),
    });
    assert.equal(response.status, 200, await response.text());
  };
  // At once, so that the sockets that `fetch` keeps open exist before the suite counts them.
  await Promise.all(["one", "two", "three"].map(says));
  const it = await scene(t, { account, url, ...more });
  const first = await it.run();
  await first.received(3);
  const of = (method: string) => calls.filter((call) => call.method === method).map(({ params }) => params);
  // The end of a run ends its requests too.
  if (more.sendReadReceipts) await until(() => of("sendReceipt").length === 3, "the receipts of the first messages");
  await first.stop();
  return { ...it, says, of, account };
}

it("keeps the contract of a channel", async (t) => {
  const { channel, says, of } = await crabline(t);
  const sent = (...keys: readonly string[]) => {
    const has = (params: Readonly<Record<string, unknown>>) => keys.every((key) => params[key] !== undefined);
    return () =>
      of("send").flatMap((params) => (has(params) ? [keys.map((key) => String(params[key])).join(":")] : []));
  };
  await channelContract(t, {
    channel,
    network: {
      says,
      heard: sent("message"),
      evidence: {
        edits: sent("message", "editTimestamp"),
        reactions: () => of("sendReaction").map(({ emoji }) => String(emoji)),
        typing: () => of("sendTyping").map(() => "typing"),
        media: sent("attachments"),
        replies: sent("quoteTimestamp", "quoteAuthor"),
      },
    },
    targets: [
      ADA,
      "+49 151 0000-0002",
      `signal:${ADA.toUpperCase()}`,
      "group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=",
      "username:ada.01",
      "u:ada.01",
    ],
    garbage: ["0151 1234567", "ada", "group:", "username:ada", "signal:", "+", "+0123456", `${ADA}0`, "user:ada.01"],
  });
});

it("answers a person in the chat of the question, and marks it as read", async (t) => {
  const { channel, says, of, run, facts, account } = await crabline(t, { sendReadReceipts: true });
  const running = await run();
  await says("hello");
  const [message] = await running.received(1);
  assert.ok(message?.at);
  const id = `${message.at}:${ADA}`;
  assert.deepEqual(message, {
    id,
    messageId: id,
    chat: { type: "direct", id: ADA, name: "Ada" },
    sender: { id: ADA, name: "Ada" },
    text: "hello",
    at: message.at,
  });
  assert.equal(await channel.chatType?.(message.chat.id), "direct");
  const receipt = await channel.send({
    ...facts,
    id: "0".repeat(32),
    to: ADA,
    text: "<b>hi</b> &amp; bye",
    replyTo: id,
  });
  assert.match(receipt.messageId ?? "", new RegExp(`^\\d+:\\${account}$`));
  const quote = { quoteTimestamp: message.at, quoteAuthor: ADA, quoteMessage: "hello" };
  const params = { account, recipient: [ADA], message: "hi & bye", textStyle: ["0:2:BOLD"], ...quote };
  assert.deepEqual(of("send").at(-1), params);
  await until(() => of("sendReceipt").length === 4, "the receipt");
  assert.deepEqual(of("sendReceipt").at(-1), { account, recipient: ADA, targetTimestamp: message.at, type: "read" });
});

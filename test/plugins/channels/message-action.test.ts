/** `message.action`, through a gateway with a channel that can do everything, and one that can do little. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { outbound } from "@svc/sdk/channels";
import { able } from "./able.ts";
import { pigeon, textsOf } from "./pigeon.ts";
import { startScene } from "./scene.ts";

let serial = 0;
const base = () => ({ channel: "pigeon", action: "send", idempotencyKey: `act-${++serial}` });

describe("message.action", { timeout: 120_000 }, () => {
  it("sends a text once for each key, and returns where it went", async (t) => {
    const bird = pigeon();
    const { client, inside } = await startScene(t, [bird.plugin]);
    const unset = { pin: false, media: [], json: true, gifPlayback: false, __sessionKey: "main" };
    const call = { ...base(), params: { ...unset, channel: "pigeon", target: " Bob ", message: "hi" } };
    const sent = await client.call(outbound.action, { ...call, senderIsOwner: true, sessionKey: "notes" });
    const where = { channel: "pigeon", accountId: "default", to: "bob", chatId: "bob" };
    const expected = { ok: true, action: "send", ...where, messageId: "m1", runId: call.idempotencyKey };
    assert.deepEqual(sent, expected);
    assert.deepEqual(await client.call(outbound.action, call), expected);
    assert.deepEqual(textsOf(bird), ["hi"]);
    assert.equal((await inside.sessions.transcript("agent:main:notes", 10)).length, 1);
  });

  it("sends nothing in a dry run, and says so", async (t) => {
    const bird = pigeon();
    const { client } = await startScene(t, [bird.plugin]);
    const params = { to: "bob", message: "hi", dryRun: true };
    const call = { ...base(), params };
    const checked = await client.call(outbound.action, call);
    const where = { channel: "pigeon", accountId: "default", to: "bob" };
    assert.deepEqual(checked, { ok: true, action: "send", ...where, dryRun: true });
    assert.deepEqual(textsOf(bird), []);
    await assert.rejects(
      client.call(outbound.action, { ...call, params: { ...params, message: "" } }),
      /message is empty/,
    );
    assert.equal(
      (await client.call(outbound.action, { ...call, params: { ...params, dryRun: false } })).messageId,
      "m1",
    );
  });

  it("answers a message, in a thread, silently, with a file", async (t) => {
    const { client, messages } = await able(t);
    const params = {
      target: "ann",
      message: "hi",
      threadId: 7,
      silent: true,
      media: "data:text/plain;base64,aGVsbG8=",
    };
    const reply = { replyToId: "9", source: "explicit" as const };
    await client.call(outbound.action, { ...base(), params, reply });
    const [message] = messages;
    assert.deepEqual([message?.threadId, message?.silent, message?.replyTo], ["7", true, "9"]);
    assert.deepEqual(message?.media?.kind, "file");
  });

  it("sends polls, reacts and edits", async (t) => {
    const { client, messages, reactions, edits } = await able(t);
    const act = (action: string, params: object) =>
      client.call(outbound.action, { ...base(), action, params: { target: "ann", ...params } });
    await act("poll", {
      pollQuestion: "When?",
      pollOption: ["now", "later"],
      pollMulti: true,
      pollDurationSeconds: 60,
    });
    assert.deepEqual(messages[0]?.poll, {
      question: "When?",
      options: ["now", "later"],
      maxSelections: 2,
      seconds: 60,
    });
    assert.equal((await act("react", { messageId: 5, emoji: " 👍 " })).messageId, "5");
    await act("react", { messageId: "5", emoji: "👍", remove: true });
    assert.deepEqual(reactions.map(({ messageId, emoji, remove }) => [messageId, emoji, remove]), [["5", "👍", false], ["5", "👍", true]]); // prettier-ignore
    await act("edit", { messageId: "m1", message: "better" });
    assert.deepEqual(edits.map(({ messageId, text }) => [messageId, text]), [["m1", "better"]]); // prettier-ignore
    await act("edit", { messageId: "m1", message: "worse", dryRun: true });
    assert.equal(edits.length, 1);
  });

  it("refuses by name what the gateway or the channel cannot do", async (t) => {
    const { client } = await startScene(t, [pigeon().plugin]);
    const to = { target: "bob" };
    const rows: [action: string, params: Record<string, unknown>, message: RegExp][] = [
      [
        "delete",
        { ...to, messageId: "1" },
        /^Channel pigeon does not support action delete; actions: send, poll, react, edit$/,
      ],
      ["constructor", to, /does not support action constructor/],
      [
        "send",
        { ...to, message: "hi", presentation: { title: "x" } },
        /in params at root: unexpected property 'presentation'/,
      ],
      ["send", { ...to, message: "hi", pin: true }, /unexpected property 'pin'/],
      ["send", { message: "hi" }, /target is missing/],
      ["send", { ...to, message: "hi", threadId: "1" }, /channel pigeon has no threads/],
      ["react", { ...to, messageId: "1", emoji: "👍" }, /channel pigeon has no reactions/],
      ["edit", { ...to, messageId: "1", message: "x" }, /channel pigeon cannot change messages/],
      ["poll", { ...to, pollQuestion: "?", pollOption: ["a", "b"] }, /channel pigeon does not support polls/],
    ];
    for (const [action, params, message] of rows)
      await assert.rejects(client.call(outbound.action, { ...base(), action, params }), {
        code: "INVALID_REQUEST",
        message,
      });
    const nowhere = { ...base(), channel: "nowhere", params: { ...to, message: "hi" } };
    await assert.rejects(client.call(outbound.action, nowhere), /nowhere/);
    const call = { ...base(), params: { ...to, message: "hi" } };
    await assert.rejects(
      client.request("message.action", { ...call, toolContext: {} }),
      /unexpected property 'toolContext'/,
    );
  });
});

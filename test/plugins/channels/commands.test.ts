/** Commands in a chat, through a gateway: the same as in `chat.send`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import { textOf } from "@svc/sdk/models";
import { pigeon } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

const MAIN = "agent:main:main";
const TEAM = "agent:main:pigeon:group:#team";
const team = { chat: { type: "group", id: "#team" } } as const;

describe("a command in a channel", { timeout: 120_000 }, () => {
  const ann = { sender: { id: "ann", name: "Ann" } };
  const mallory = { sender: { id: "mallory" } };
  type Row = [what: string, text: string, from: Partial<InboundMessage>, reply: RegExp, restarts?: boolean];
  const rows: Row[] = [
    ["help", "/help", {}, /\/compact \[what to keep\]/],
    ["a new session", "/new", {}, /^New session started\.$/, true],
    ["a new session with words for the agent", "/new echo hi", {}, /^hi$/, true],
    ["the queue", "/queue steer cap:3", {}, /^Queue mode of this session: steer \(cap 3\)\.$/],
    ["a queue that there is not", "/queue loud", {}, /modes: collect/],
    ["a summary", "/compact", {}, /nothing to summarize/],
    ["a stop without a run", "stop!", {}, /^Nothing to stop\.$/],
    ["a user in a group who speaks to the agent", "/new", { ...team, ...ann, mentioned: true }, /^New session/, true],
    ["a user in a group who does not", "/new", { ...team, ...ann }, /offline responder/],
    ["somebody else in a group", "/new", { ...team, ...mallory, mentioned: true }, /^Only people the agent works for/],
    ["somebody else in a group who does not speak to it", "/new", { ...team, ...mallory }, /offline responder/],
    [
      "somebody let in by *",
      "/new",
      { ...mallory, chat: { type: "direct", id: "mallory" } },
      /^Only people the agent works for/,
    ],
    [
      "an unknown command of somebody let in by *",
      "/nwe",
      { ...mallory, chat: { type: "direct", id: "mallory" } },
      /\/nwe/,
    ],
  ];
  for (const [what, text, from, reply, restarts = false] of rows)
    it(`${restarts ? "restarts the session" : "leaves the session"}: ${what}`, async (t) => {
      const accounts = [{ allowFrom: ["ann", "*"], groups: ["#team"], requireMention: false }];
      const bird = pigeon({ accounts, maxTextChars: 2_000 });
      const { inside } = await startScene(t, [bird.plugin]);
      await until(() => bird.running.get("default"), "the account");
      const key = from.chat?.type === "group" ? TEAM : MAIN;
      const before = await inside.sessions.ensure(key);
      await bird.says(text, from);
      await until(() => bird.sent.length === 1, "the reply");
      assert.match(bird.sent[0]?.text ?? "", reply);
      const after = await inside.sessions.get(key);
      assert.equal(after?.sessionId !== before.sessionId, restarts);
      if (text.startsWith("/queue steer")) assert.equal(after?.["queueMode"], "steer");
      const said = (await inside.sessions.transcript(key, 10)).map(({ message }) => textOf(message));
      if (restarts) assert.deepEqual(said, text.endsWith("hi") ? ["echo hi", "hi"] : []);
    });

  it("stops what channels started in the session, also what waits, and nothing else", async (t) => {
    const bird = pigeon();
    const { inside } = await startScene(t, [bird.plugin], { config: { "provider-offline": { wordDelayMs: 60_000 } } });
    await until(() => bird.running.get("default"), "the account");
    await bird.says("echo one two");
    await bird.says("echo three four");
    await until(() => inside.runs.active(MAIN).length === 2, "both runs");
    await bird.says("/stop");
    await until(() => bird.sent.length === 1, "the reply");
    assert.deepEqual(bird.sent[0]?.text, "Stopped 2 runs.");
  });
});

/** Commands through a gateway: in `chat.send`, in a channel, and not in webhooks and scheduled jobs. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";
import { ChatCommand, type ChatCommandCall } from "@svc/sdk/commands";
import { cron } from "@svc/sdk/cron";
import { textOf } from "@svc/sdk/models";
import type { TestGatewayOptions } from "@svc/sdk/testing";
import { obeyingScene } from "../../conformance/access/obeying-scene.ts";
import { pigeon } from "../channels/pigeon.ts";
import { startScene, until } from "../channels/scene.ts";

const MAIN = "agent:main:main";

/** A plugin with the commands `/dice` and `/steer-on`. */
function dicePlugin() {
  const calls: ChatCommandCall[] = [];
  const plugin = definePlugin({
    id: "dice",
    api: "^1.0.0",
    setup(gateway) {
      gateway.extend(ChatCommand, "dice", {
        summary: "roll dice",
        usage: "[sides]",
        aliases: ["roll"],
        run: async (call) => (calls.push(call), { reply: `rolled ${call.text || "6"}` }),
      });
      gateway.extend(ChatCommand, "steer-on", { summary: "go on", run: async () => ({ message: "echo on it goes" }) });
    },
  });
  return { plugin, calls };
}

/** A gateway with chat and the channel pigeon. */
async function open(t: TestContext, options: TestGatewayOptions & { readonly without?: readonly string[] } = {}) {
  const bird = pigeon({ accounts: [{ allowFrom: ["ann", "*"] }], maxTextChars: 8_000 });
  const dice = dicePlugin();
  const scene = await startScene(t, ["chat", bird.plugin, dice.plugin], options);
  await until(() => bird.running.get("default"), "the account");
  let keys = 0;
  /** The reply of a command in `chat.send`. */
  const asks = async (message: string, sessionKey = "main") => {
    const before = (await scene.inside.sessions.transcript(MAIN, 100)).length;
    await scene.client.call(chat.send, { sessionKey, message, idempotencyKey: `key-${(keys += 1)}` });
    const items = await until(async () => {
      const all = await scene.inside.sessions.transcript(MAIN, 100);
      return all.length > before && scene.inside.runs.active(MAIN).length === 0 ? all : undefined;
    }, "the reply");
    return textOf(items.at(-1)?.message ?? assert.fail());
  };
  /** The reply of the channel. */
  const says = async (text: string, from: Parameters<typeof bird.says>[1] = {}) => {
    const before = bird.sent.length;
    await bird.says(text, from);
    await until(() => bird.sent.length > before, "the reply");
    return bird.sent.at(-1)?.text ?? "";
  };
  return { ...scene, bird, calls: dice.calls, asks, says };
}

const limited = { timeout: 120_000 };

describe("a command of a plugin", limited, () => {
  it("works in chat.send and in a channel", async (t) => {
    const { asks, says, calls } = await open(t);
    assert.equal(await asks("/dice 20"), "rolled 20");
    assert.equal(await says("/roll"), "rolled 6");
    const [one = assert.fail(), other = assert.fail()] = calls;
    assert.deepEqual([one.name, one.surface, one.sessionKey, one.runId], ["dice", "chat", MAIN, "key-1"]);
    assert.deepEqual([other.name, other.surface, other.sessionKey], ["dice", "channel", MAIN]);
    assert.deepEqual(other.sender, { id: "ann", name: "Ann" });
    assert.deepEqual(other.address, { channel: "pigeon", accountId: "default", to: "ann" });
    assert.deepEqual(other.principal.scopes, ["operator.read", "operator.write"]);
  });

  it("may pass a text on to the agent", async (t) => {
    const { asks, says } = await open(t);
    assert.equal(await asks("/steer-on"), "on it goes");
    assert.equal(await says("/steer_on"), "on it goes");
  });

  it("is in the help and in the menus of networks, which have no command of the owner", async (t) => {
    const { asks, bird } = await open(t);
    assert.match(await asks("/help"), /^\/dice \[sides\]: roll dice$/m);
    const menu = bird.running.get("default")?.commands ?? [];
    assert.deepEqual(
      menu.filter(({ name }) => name === "dice" || name === "steer_on"),
      [
        { name: "dice", description: "roll dice" },
        { name: "steer_on", description: "go on" },
      ],
    );
    assert.equal(
      menu.some(({ name }) => name === "config"),
      false,
    );
  });
});

describe("a text that begins with a slash", limited, () => {
  it("is answered if it is an unknown command, and reaches the agent with a second slash", async (t) => {
    const { asks, says, inside } = await open(t);
    for (const ask of [asks, says]) {
      assert.match(await ask("/dicee"), /^Unknown command \/dicee\. Did you mean \/dice\?/);
      assert.match(await ask("//dicee"), /offline responder/);
      assert.match(await ask("/etc/hosts is wrong"), /offline responder/);
    }
    const said = (await inside.sessions.transcript(MAIN, 100)).map(({ message }) => textOf(message));
    assert.equal(said.filter((text) => text === "/dicee").length, 2);
  });

  it("is refused if somebody else in a channel wrote it", async (t) => {
    const { says, calls } = await open(t);
    const mallory = { sender: { id: "mallory" }, chat: { type: "direct", id: "mallory" } } as const;
    assert.match(await says("/dice", mallory), /^Only people the agent works for can use \/dice\./);
    assert.match(await says("/dicee", mallory), /^Unknown command \/dicee\./);
    assert.deepEqual(calls, []);
  });

  it("is text for the agent without the plugin commands", async (t) => {
    const { asks, says, calls, bird, inside } = await open(t, { without: ["commands"] });
    const before = await inside.sessions.ensure(MAIN);
    for (const ask of [asks, says]) {
      assert.match(await ask("/new"), /offline responder/);
      assert.match(await ask("/dicee"), /offline responder/);
    }
    assert.deepEqual([calls, bird.running.get("default")?.commands], [[], []]);
    assert.equal((await inside.sessions.get(MAIN))?.sessionId, before.sessionId);
  });

  it("is no command in a webhook and in a scheduled job", async (t) => {
    const { open: start, server } = await obeyingScene(t, { replies: () => ({ text: "fine" }), plugins: ["cron"] });
    const { client, hook } = await start();
    await hook("agent", { message: "/nope of a webhook" });
    const schedule = { kind: "every", everyMs: 86_400_000 } as const;
    const payload = { kind: "agentTurn", message: "/new of a job" } as const;
    const { id } = await client.call(cron.add, { name: "job", schedule, sessionTarget: "isolated", payload });
    await client.call(cron.run, { id, mode: "force" });
    const asked = () => JSON.stringify(server.requests);
    await until(() => asked().includes("/nope of a webhook"), "the request of the webhook");
    assert.match(asked(), /\/new of a job/);
  });
});

describe("the built-in commands in a gateway", limited, () => {
  it("change the session with the checks of its settings", async (t) => {
    const { asks, says, inside } = await open(t);
    const field = async (name: string) => (await inside.sessions.get(MAIN))?.[name];
    assert.match(await asks("/model"), /^Model: offline\/offline\.[^]*\n1\. offline\/offline$/);
    assert.equal(await asks("/model 1"), "Model: offline/offline.");
    assert.equal(await asks("/verbose full"), "Verbose: full.");
    assert.equal(await says("/reasoning stream"), "Reasoning: stream.");
    assert.equal(await says("/usage tokens"), "Usage below answers in channels: tokens.");
    const names = ["verboseLevel", "reasoningLevel", "responseUsage"];
    assert.deepEqual(await Promise.all(names.map(field)), ["full", "stream", "tokens"]);
    assert.match(await says("/think high"), /offline\/offline is no reasoning model/);
    await assert.rejects(asks("/think high"), { code: "INVALID_REQUEST" });
    assert.equal(await asks("/think off"), "Thinking: off.");
    assert.match(await says("/context"), /^Context: /);
    assert.match(await asks("/usage"), /^Usage of this conversation: \d+ tokens, no known cost\./);
    assert.equal(await says("/subagents"), "No sub-agent is at work for this conversation.");
    assert.match(await says("/activation always"), /is for groups/);
    assert.match(
      await says("/whoami"),
      /^You are ann \(Ann\) on pigeon, default, ann, for the gateway channel:pigeon:default:ann/,
    );
  });

  it("of the owner work in chat.send, and not in a channel", async (t) => {
    const { asks, says, inside } = await open(t);
    assert.match(await asks("/config get agents.defaults.skipBootstrap"), /skipBootstrap: true$/);
    for (const text of ["/config get", "/send off", "/restart", "/trust"])
      assert.match(await says(text), /^Only the owner of this gateway can use/);
    assert.match(await asks("/restart"), /^(The gateway restarts in|This gateway cannot restart itself)/);
    assert.match(await asks("/send off"), /^Sending: off\./);
    assert.equal((await inside.sessions.get(MAIN))?.sendPolicy, "deny");
    await assert.rejects(asks("/send on"), { code: "INVALID_REQUEST", message: /sendPolicy/ });
  });

  it("activate the agent in a group", async (t) => {
    const bird = pigeon({ accounts: [{ allowFrom: ["ann"], groups: ["#team"] }] });
    const { inside } = await startScene(t, [bird.plugin]);
    await until(() => bird.running.get("default"), "the account");
    const ann = { sender: { id: "ann", name: "Ann" }, chat: { type: "group", id: "#team" } } as const;
    await bird.says("/activation always", { ...ann, mentioned: true });
    await until(() => bird.sent.length === 1, "the reply");
    assert.equal(bird.sent[0]?.text, "Activation: always.");
    assert.equal((await inside.sessions.get("agent:main:pigeon:group:#team"))?.["groupActivation"], "always");
    await bird.says("echo all of you", ann);
    await until(() => bird.sent.length > 1, "the answer");
  });
});

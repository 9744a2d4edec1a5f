import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Delivery } from "@svc/sdk/channels";
import { toRunRequest } from "../../../../plugins/agents/runs/request.ts";
import { ended, spoke, start } from "../fixture.ts";
import { hangsAfter, MAIN, principal, request, says, inTurn } from "../script.ts";

const limited = { timeout: 120_000 };

const named = (...ids: string[]) => ({
  configured: () => ids.map((id) => ({ id, label: id, defaultAccountId: "default", accounts: [] })),
  channelId: (name: string) => ids.find((id) => id === name.toLowerCase()),
  sessionOf: async ({ channel, to, accountId, threadId }: Parameters<Delivery["sessionOf"]>[0]) =>
    ["agent:main", channel.toLowerCase(), accountId, to, threadId].filter((part) => part !== undefined).join(":"),
});

async function scene(t: TestContext, channels?: ReturnType<typeof named>) {
  const gateway = await start(t, { answer: inTurn(hangsAfter("Half"), says("fine")) });
  const sources = {
    services: { sessions: gateway.sessions },
    agents: gateway.directory,
    runs: gateway.runs,
    delivery: () => channels,
    findSession: async () => MAIN,
    log: { info: () => undefined },
  };
  const ask = (params: object = {}) =>
    toRunRequest({ message: "hi", idempotencyKey: "a1", ...params }, { principal, connection: undefined }, sources);
  return { gateway, ask };
}

describe("a request of the method agent", limited, () => {
  it("takes thinking by any of its names, and a lane", async (t) => {
    const { ask } = await scene(t);
    const { thinking, lane } = await ask({ thinking: "Max", lane: "nested" });
    assert.deepEqual([thinking, lane], ["high", "nested"]);
    assert.equal((await ask({ thinking: " " })).thinking, undefined);
  });

  it("refuses a level that does not exist and names those that do", async (t) => {
    const { ask } = await scene(t);
    await assert.rejects(ask({ thinking: "loud" }), { code: "INVALID_REQUEST", message: /levels: off, minimal, low/ });
  });

  it("starts a stale session afresh, but none that is in use and none a command restarts anyway", async (t) => {
    const { gateway, ask } = await scene(t);
    await ask();
    assert.deepEqual(gateway.sessions.freshened, [MAIN]);
    await ask({ message: "/new go on" });
    await gateway.runs.start(request("r1"));
    await spoke(gateway);
    await ask();
    assert.deepEqual(gateway.sessions.freshened, [MAIN]);
    gateway.runs.abort("r1", "rpc");
    await ended(gateway, "r1");
  });

  const routes: [why: string, ids: string[], params: object, delivery: object | undefined][] = [
    ["nowhere by default", ["irc"], { channel: "irc", to: "#a" }, undefined],
    ["to the last address", ["irc", "mail"], {}, { channel: "last" }],
    ["to a recipient of a channel", ["irc", "mail"], { channel: "IRC", to: "#a" }, { channel: "irc", to: "#a" }],
    ["to a recipient of the only channel", ["irc"], { to: "#a" }, { channel: "irc", to: "#a" }],
    ["to a recipient with `last`", ["irc"], { channel: "last", to: "#a" }, { channel: "irc", to: "#a" }],
    ["in the thread it names", ["irc"], { to: "#a", threadId: "7" }, { channel: "irc", to: "#a", threadId: "7" }],
    [
      "where `reply...` says",
      ["irc", "mail"],
      { channel: "irc", to: "#a", accountId: "x", replyChannel: "mail", replyTo: "b@host", replyAccountId: "y" },
      { channel: "mail", to: "b@host", accountId: "y" },
    ],
  ];
  for (const [why, ids, params, delivery] of routes) {
    it(`is delivered ${why}`, async (t) => {
      const { ask } = await scene(t, named(...ids));
      const asked = await ask({ ...(delivery ? { deliver: true } : {}), ...params });
      assert.deepEqual(asked.delivery, delivery && { ...delivery, isBestEffort: asked.sessionKey === MAIN });
    });
  }

  const GROUP = "agent:main:irc:#a";
  const sessions: [why: string, ids: string[], params: object, key: string][] = [
    ["of a group", ["irc"], { channel: "IRC", to: "#a" }, GROUP],
    [
      "of a group, by account and thread",
      ["irc"],
      { channel: "irc", to: "#a", accountId: "x", threadId: "7" },
      "agent:main:irc:x:#a:7",
    ],
    ["of a group, whatever groupId says", ["irc"], { channel: "irc", to: "#a", groupId: "#b" }, GROUP],
    ["of a person", ["irc"], { channel: "irc", to: "ann" }, "agent:main:irc:ann"],
    ["of a group on the only channel", ["irc"], { to: "#a", deliver: true }, GROUP],
    ["of a group on the only channel, for `last`", ["irc"], { channel: "last", to: "#a", deliver: true }, GROUP],
    [
      "of a group on the channel of the reply",
      ["irc", "mail"],
      { to: "#a", replyChannel: "irc", deliver: true },
      GROUP,
    ],
    [
      "of a group that a client on webchat replies to",
      ["irc"],
      { channel: "webchat", to: "#a", replyChannel: "irc", deliver: true },
      GROUP,
    ],
    ["main for a recipient that gets nothing", ["irc"], { to: "#a" }, MAIN],
    ["main without a recipient", ["irc"], { channel: "irc", deliver: true }, MAIN],
  ];
  for (const [why, ids, params, key] of sessions) {
    it(`runs in the session ${why}`, async (t) => {
      const { ask } = await scene(t, named(...ids));
      assert.equal((await ask(params)).sessionKey, key);
    });
  }

  const unroutable: [why: string, ids: string[], params: object, message: RegExp][] = [
    [
      "a channel that is not loaded",
      ["irc"],
      { channel: "pigeon" },
      /channel: unknown channel "pigeon"; configured: irc/,
    ],
    ["a recipient of several channels", ["irc", "mail"], { to: "#a" }, /`to` needs a channel; configured: irc, mail/],
    ["a recipient of the last of several", ["irc", "mail"], { channel: "last", to: "#a" }, /`to` needs a channel/],
    ["the channel webchat", ["irc"], { channel: "webchat" }, /cannot be used with the channel "webchat"/],
    ["no channel at all", [], {}, /no channel is configured to deliver to/],
  ];
  for (const [why, ids, params, message] of unroutable) {
    it(`is refused with deliver and ${why}`, async (t) => {
      const { ask } = await scene(t, named(...ids));
      await assert.rejects(ask({ deliver: true, ...params }), { code: "INVALID_REQUEST", message });
    });
  }

  it("is best effort in a main session only, unless it says", async (t) => {
    const { ask } = await scene(t, named("irc"));
    const bestEffort = async (params: object) => (await ask({ deliver: true, ...params })).delivery?.isBestEffort;
    assert.deepEqual(
      [await bestEffort({}), await bestEffort({ sessionKey: "x" }), await bestEffort({ bestEffortDeliver: false })],
      [true, false, false],
    );
  });

  it("is refused where the gateway may not speak", async (t) => {
    const { gateway, ask } = await scene(t);
    await gateway.sessions.ensure(MAIN, { sendPolicy: "deny" });
    await assert.rejects(ask(), { code: "INVALID_REQUEST", message: /send policy/ });
    assert.deepEqual(gateway.sessions.freshened, []);
  });

  it("puts what it is told about ended tasks into words", async (t) => {
    const { ask } = await scene(t);
    const event = {
      type: "task_completion",
      source: "cron",
      childSessionKey: "agent:main:cron:1",
      announceType: "cron job",
      taskLabel: "nightly",
      status: "ok",
      statusLabel: "completed",
      result: "all green",
      replyInstruction: "Tell the team.",
    };
    const { message } = await ask({ internalEvents: [event] });
    assert.equal(
      message,
      'hi\n\n[A scheduled task reports: "nightly" completed]\n\nSession: agent:main:cron:1\n\n<result>\nall green\n</result>\n\nTell the team.',
    );
    await assert.rejects(ask({ internalEvents: [{ type: "party" }] }), {
      code: "INVALID_REQUEST",
      message: /internalEvents\[0\]/,
    });
  });
});

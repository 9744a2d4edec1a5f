import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { type ConnectionInfo, matches, type ParamsOf, unavailable } from "@svc/sdk";
import { type agents, agents as contract } from "@svc/sdk/agents";
import { textOf } from "@svc/sdk/models";
import type { Delivery, DeliveryOutcome, DeliveryRequest } from "@svc/sdk/channels";
import type { Sessions } from "@svc/sdk/sessions";
import { createRunHandlers } from "../../../../plugins/agents/runs/methods.ts";
import { DELIVERY_MS } from "../../../../plugins/agents/runs/reply-delivery.ts";
import { type FixtureOptions, type Gateway, openFixture, spoke, until } from "../fixture.ts";
import { callOf, failsWith, hangsAfter, inTurn, MAIN, principal, request, says, usage } from "../script.ts";
import { silentLog } from "../silent-log.ts";

type Params = ParamsOf<typeof agents.run>;

const connection: ConnectionInfo = {
  id: "ws-1",
  remoteAddress: "127.0.0.1",
  local: true,
  client: undefined,
  caps: ["tool-events"],
  device: undefined,
  principal,
};

async function open(t: TestContext, options: FixtureOptions = {}) {
  const gateway = await (await openFixture(t)).start(options);
  const resets: string[] = [];
  const sessions: Sessions = {
    ...gateway.sessions,
    reset: (key, reason) => {
      resets.push(reason);
      return gateway.sessions.reset(key, reason);
    },
  };
  const handlers = createRunHandlers({
    services: { sessions },
    agents: gateway.directory,
    runs: gateway.runs,
    delivery: () => options.delivery,
    clock: gateway.clock,
    log: silentLog,
    findSession: async (sessionId) => (sessionId === "known" ? "agent:main:found" : undefined),
  });
  const accepted: unknown[] = [];
  const accept = (payload: unknown) => void accepted.push(payload);
  /** A call that is accepted; each case changes one thing. */
  const run = async (params: Partial<Params> = {}) =>
    handlers.run(callOf({ message: "hello", idempotencyKey: "r1", ...params }, { connection, accept }));
  const wait = async (params: ParamsOf<typeof agents.wait>) => handlers.wait(callOf(params));
  return { ...gateway, resets, accepted, run, wait };
}

const words = async ({ sessions }: Pick<Gateway, "sessions">, key = MAIN) =>
  (await sessions.transcript(key, 100)).map(({ message }) => textOf(message));

describe("agent", () => {
  it("answers accepted, then the reply [W2.12]", async (t) => {
    const gateway = await open(t);
    const final = await gateway.run();
    assert.deepEqual(gateway.accepted, [
      { runId: "r1", sessionKey: MAIN, agentId: "main", status: "accepted", acceptedAt: gateway.clock.now() },
    ]);
    const sessionId = (await gateway.sessions.get(MAIN))?.sessionId;
    assert.deepEqual(final, {
      runId: "r1",
      status: "ok",
      summary: "completed",
      result: {
        payloads: [{ text: "fine", mediaUrl: null }],
        meta: { durationMs: 0, agentMeta: { sessionId, provider: "fake", model: "one", usage: usage(10, 5) } },
      },
    });
    assert.ok(matches(contract.run.result, final));
  });

  it("answers a duplicate once, with how far the first one is [W14.1]", async (t) => {
    const gateway = await open(t, { answer: inTurn(hangsAfter("Half"), says("fine")) });
    const first = gateway.run();
    await until(() => gateway.accepted.length === 1);
    assert.deepEqual(await gateway.run(), gateway.accepted[0]);
    gateway.runs.abort("r1", "rpc");
    const final = await first;
    assert.deepEqual(await gateway.run(), final);
    assert.equal(gateway.accepted.length, 1);
  });

  it("says that a run was aborted, with what it had said", async (t) => {
    const gateway = await open(t, { answer: hangsAfter("Half") });
    const final = gateway.run();
    await spoke(gateway);
    gateway.runs.abort("r1", "rpc");
    const { status, summary, result } = await final;
    const { payloads, meta } = result as { payloads: unknown; meta: { aborted?: boolean } };
    assert.deepEqual([status, summary, payloads], ["ok", "aborted", [{ text: "Half", mediaUrl: null }]]);
    assert.equal(meta.aborted, true);
  });

  it("fails with a payload when the run fails, also for a duplicate [W2.10]", async (t) => {
    const gateway = await open(t, { answer: failsWith(new Error("secret")) });
    for (const responses of [1, 1]) {
      await assert.rejects(gateway.run(), {
        code: "UNAVAILABLE",
        message: "the agent run failed",
        payload: { runId: "r1", status: "error", summary: "the agent run failed" },
      });
      assert.equal(gateway.accepted.length, responses);
    }
  });

  it("has no payload for a silent reply, and takes the channels that mean this connection", async (t) => {
    const gateway = await open(t, { answer: says("NO_REPLY") });
    const { status, result } = await gateway.run({ channel: "webchat", replyChannel: "last", deliver: false });
    assert.equal(status, "ok");
    assert.deepEqual((result as { payloads: unknown }).payloads, []);
  });

  it("keeps what it is told about the session", async (t) => {
    const gateway = await open(t);
    await gateway.run({ label: "Trip", spawnedBy: "Main" });
    const { label, spawnedBy } = (await gateway.sessions.get(MAIN)) ?? {};
    assert.deepEqual([label, spawnedBy], ["Trip", MAIN]);
  });

  const list = { list: [{ id: "main" }, { id: "ops" }] };
  const keys: [string, Partial<Params>, string][] = [
    ["the main session by default", {}, MAIN],
    ["the canonical form of the key it is given", { sessionKey: "Trip" }, "agent:main:trip"],
    ["the main session of the agent it is given", { agentId: "OPS" }, "agent:ops:main"],
    ["the session with the id it is given", { sessionId: "known" }, "agent:main:found"],
    ["a new session of the default agent with an id nobody has", { sessionId: "New-1" }, "agent:main:explicit:new-1"],
    ["the agent before the session id", { agentId: "ops", sessionId: "known" }, "agent:ops:main"],
    ["the key before all", { sessionKey: "agent:ops:x", agentId: "ops", sessionId: "known" }, "agent:ops:x"],
  ];
  for (const [what, params, key] of keys) {
    it(`runs in ${what}`, async (t) => {
      const gateway = await open(t, { config: list });
      await gateway.run(params);
      assert.deepEqual(await words(gateway, key), ["hello", "fine"]);
    });
  }

  it("begins a session with the id that a client invents, and finds it by its key after a reset", async (t) => {
    const gateway = await open(t);
    await gateway.run({ sessionId: "nightly-7" });
    const key = "agent:main:explicit:nightly-7";
    assert.equal((await gateway.sessions.get(key))?.sessionId, "nightly-7");
    await gateway.sessions.reset(key, "new");
    await gateway.run({ sessionId: "nightly-7", message: "again", idempotencyKey: "r2" });
    assert.deepEqual(await words(gateway, key), ["again", "fine"]);
  });

  const refused: [string, Partial<Params>, string, RegExp][] = [
    ["an agent nobody configured", { agentId: "ghost" }, "NOT_FOUND", /no agent "ghost"/],
    ["an agent without a letter", { agentId: "日本" }, "NOT_FOUND", /no agent "日本"/],
    ["a key of such an agent", { sessionKey: "agent:ghost:main" }, "NOT_FOUND", /no agent "ghost"/],
    [
      "a key of another agent",
      { sessionKey: "agent:ops:x", agentId: "main" },
      "INVALID_REQUEST",
      /belongs to agent "ops"/,
    ],
    ["a malformed key", { sessionKey: "agent:" }, "INVALID_REQUEST", /malformed/],
    ["a reply channel", { replyChannel: "pigeon" }, "INVALID_REQUEST", /unknown channel "pigeon"/],
    ["a blank message", { message: " \n" }, "INVALID_REQUEST", /message is empty/],
    ["a bad attachment", { attachments: [{ content: "?" }] }, "INVALID_REQUEST", /not base64/],
  ];
  for (const [what, params, code, message] of refused) {
    it(`refuses ${what} with ${code}, before it accepts anything`, async (t) => {
      const gateway = await open(t, { config: list });
      await assert.rejects(gateway.run(params), { code, message });
      assert.deepEqual([gateway.accepted, await gateway.sessions.count()], [[], 0]);
    });
  }

  describe("with deliver", () => {
    const channels = (outcome: DeliveryOutcome) => {
      const sent: DeliveryRequest[] = [];
      const delivery = {
        configured: () => [{ id: "irc", label: "IRC", defaultAccountId: "default", accounts: [] }],
        channelId: () => "irc",
        sessionOf: async () => MAIN,
        deliver: async (asked: DeliveryRequest) => {
          sent.push(asked);
          return outcome;
        },
      } as unknown as Delivery;
      return { sent, delivery };
    };
    const lost = { delivered: false, reason: "nobody is there" } as const;

    it("sends the reply through the channel, once", async (t) => {
      const { sent, delivery } = channels({ delivered: true, channel: "irc", to: "#a" });
      const gateway = await open(t, { delivery });
      assert.equal((await gateway.run({ deliver: true, channel: "irc", to: "#a" })).status, "ok");
      assert.deepEqual(sent, [{ id: "r1:reply", channel: "irc", to: "#a", sessionKey: MAIN, text: "fine" }]);
    });

    it("fails when the reply cannot be sent, unless that is best effort", async (t) => {
      const { delivery } = channels(lost);
      const gateway = await open(t, { delivery });
      const asked = { deliver: true, channel: "irc", to: "#a" };
      await assert.rejects(gateway.run({ ...asked, bestEffortDeliver: false }), {
        code: "UNAVAILABLE",
        message: "the reply was not delivered: nobody is there",
      });
      assert.equal((await gateway.run({ ...asked, idempotencyKey: "r2" })).status, "ok");
    });

    it("says after a minute that the channel could not be used, to whoever asks again, too", async (t) => {
      const { delivery } = channels(lost);
      let attempts = 0;
      const refuses = async () => {
        attempts += 1;
        return unavailable("channel irc has not taken the text yet");
      };
      const gateway = await open(t, { delivery: { ...delivery, deliver: refuses } });
      const asked = { deliver: true, channel: "irc", to: "#a", bestEffortDeliver: false };
      const answered = gateway.run(asked).catch((error: unknown) => error);
      await until(() => attempts === 1);
      assert.equal(gateway.runs.isWorking, true);
      let isOver = false;
      void answered.then(() => (isOver = true));
      for (let passed = 0; passed < DELIVERY_MS; passed += 1_000) {
        assert.equal(isOver, false);
        gateway.clock.advance(1_000);
        await tick();
      }
      const expected = "the reply was not delivered: not within 60 s: channel irc has not taken the text yet";
      assert.equal(((await answered) as Error).message, expected);
      await assert.rejects(gateway.run(asked), { code: "UNAVAILABLE", message: expected });
      assert.deepEqual([attempts > 3, gateway.runs.isWorking, gateway.clock.pending()], [true, false, 0]);
    });

    it("sends nothing where the agent keeps silent", async (t) => {
      const { sent, delivery } = channels(lost);
      const gateway = await open(t, { delivery, answer: says("NO_REPLY") });
      assert.equal((await gateway.run({ deliver: true, channel: "irc", to: "#a" })).status, "ok");
      assert.deepEqual(sent, []);
    });
  });

  it("takes an image without words", async (t) => {
    const gateway = await open(t);
    const content = Buffer.from("GIF89a......").toString("base64");
    await gateway.run({ message: " ", attachments: [{ content }] });
    const [first] = await gateway.sessions.transcript(MAIN, 1000);
    assert.deepEqual(first?.message.content, [{ type: "image", data: content, mimeType: "image/gif" }]);
  });

  const resets: [string, RegExp][] = [
    ["/new", /^A new conversation/],
    ["/RESET", /^A new conversation/],
    ["/reset  and then  go", /^and then {2}go$/],
    ["/newest", /^\/newest$/],
  ];
  for (const [message, asked] of resets) {
    it(`understands ${message}`, async (t) => {
      const gateway = await open(t);
      const before = await gateway.sessions.ensure(MAIN);
      await gateway.run({ message });
      const [first] = await words(gateway);
      assert.match(first ?? "", asked);
      const wasReset = (await gateway.sessions.get(MAIN))?.sessionId !== before.sessionId;
      assert.equal(wasReset, message !== "/newest");
    });
  }

  it("resets once, however often the request is repeated", async (t) => {
    const gateway = await open(t);
    await gateway.sessions.ensure(MAIN);
    const params = { message: "/new hello" };
    const both = await Promise.all([gateway.run(params), gateway.run(params)]);
    await gateway.run(params);
    assert.deepEqual(gateway.resets, ["new"]);
    assert.equal(both.filter(({ status }) => status === "ok").length, 1);
    assert.deepEqual(await words(gateway), ["hello", "fine"]);
  });

  it("limits the run to the seconds it is given", async (t) => {
    const gateway = await open(t, { answer: hangsAfter("Half") });
    const final = gateway.run({ timeout: 2 });
    await spoke(gateway);
    gateway.clock.advance(2_000);
    assert.equal((await final).summary, "aborted");
  });
});

describe("agent.wait", () => {
  it("tells how a run ended", async (t) => {
    const gateway = await open(t);
    await gateway.run();
    const now = gateway.clock.now();
    assert.deepEqual(await gateway.wait({ runId: "r1" }), { runId: "r1", status: "ok", startedAt: now, endedAt: now });
  });

  it("tells about an error", async (t) => {
    const gateway = await open(t, { answer: failsWith(new Error("secret")) });
    await gateway.run().catch(() => undefined);
    const { status, error } = await gateway.wait({ runId: "r1" });
    assert.deepEqual([status, error], ["error", "the agent run failed"]);
  });

  it("says timeout with times for an aborted run", async (t) => {
    const gateway = await open(t, { answer: hangsAfter("Half") });
    const final = gateway.run();
    await spoke(gateway);
    gateway.runs.abort("r1", "rpc");
    await final;
    const { status, endedAt } = await gateway.wait({ runId: "r1" });
    assert.deepEqual([status, endedAt], ["timeout", gateway.clock.now()]);
  });

  it("takes no longer than it was told, also when the message went into another run", async (t) => {
    const gateway = await open(t, { answer: hangsAfter("Half"), messages: { queue: { debounceMs: 0 } } });
    const send = (runId: string) => gateway.runs.start(request(runId, { queue: "collect" }));
    await gateway.runs.start(request("r0"));
    await spoke(gateway);
    for (const runId of ["r1", "r2"]) await send(runId);
    const waited = gateway.wait({ runId: "r1", timeoutMs: 1_000 });
    await tick();
    gateway.clock.advance(900);
    gateway.runs.abort("r0", "rpc");
    await until(() => gateway.finished.some(({ runId }) => runId === "r1"));
    await tick();
    gateway.clock.advance(100);
    assert.deepEqual(await waited, { runId: "r1", status: "timeout" });
  });

  it("says timeout for a run nobody knows after 30 s", async (t) => {
    const gateway = await open(t);
    const waited = gateway.wait({ runId: "r9" });
    await until(() => gateway.clock.pending() === 1);
    gateway.clock.advance(30_000);
    assert.deepEqual(await waited, { runId: "r9", status: "timeout" });
  });
});

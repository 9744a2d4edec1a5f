/** Answers to accepted messages while storage fails. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, unavailable } from "@svc/sdk";
import type { AgentRuns, RunOutcome } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import { createFakeClock } from "@svc/sdk/testing";
import { Answering, MAX_FAILURES } from "../../../plugins/channels/inbound/answering.ts";
import type { Attached } from "../../../plugins/channels/inbound/attachments.ts";
import type { AcceptedMessage, InboundEnding } from "../../../plugins/channels/inbound/inbound-store.ts";
import type { NewText } from "../../../plugins/channels/outbox/outbox-store.ts";
import { FAILED_TEXT } from "../../../plugins/channels/inbound/verdict.ts";
import { openCommands } from "../commands/commands-scene.ts";

const MESSAGE: AcceptedMessage = {
  key: "k",
  channel: "pigeon",
  accountId: "a",
  sessionKey: "agent:main:main",
  runId: "r",
  attempt: 1,
  acceptedAt: 0,
  job: {
    message: "hello",
    prompt: "",
    principal: {
      id: "ann",
      role: "operator",
      scopes: ["operator.read", "operator.write"],
      provenance: "plugin",
      epoch: 0,
    },
    chatType: "direct",
    replyTo: "ann",
    maxTextChars: 100,
  },
};

type Settle = (ending: InboundEnding, call: number) => void;

interface SceneOptions extends Partial<RunOutcome> {
  readonly settle: Settle;
  readonly start?: () => Promise<void>;
  readonly command?: string;
  readonly isAllowed?: () => boolean;
  readonly attachments?: () => Promise<Attached>;
  readonly wait?: () => Promise<undefined>;
  /** Settings of the session; throws if it cannot be read. */
  readonly settings?: () => object;
}

/** One message whose run ends as `outcome`; `settle` throws the error of storage for each outcome, `start` refuses the run. */
function scene({
  settle,
  start = async () => undefined,
  command,
  isAllowed,
  attachments = async () => ({ images: [], notes: [] }),
  wait,
  settings = () => ({}),
  ...ended
}: SceneOptions) {
  const message = command === undefined ? MESSAGE : { ...MESSAGE, job: { ...MESSAGE.job, command } };
  const clock = createFakeClock();
  const usual: RunOutcome = { runId: "r", sessionKey: MESSAGE.sessionKey, status: "ok", endedAt: 1, text: "hi" };
  const outcome = { ...usual, ...ended };
  const settled: InboundEnding[] = [];
  const sent: string[] = [];
  const aborted: string[] = [];
  const lines: string[] = [];
  let calls = 0;
  const runs = {
    state: async () => undefined,
    active: () => [],
    queueMode: async () => "followup",
    start,
    wait: wait ?? (async () => outcome),
    abort: (runId: string) => void aborted.push(runId),
  } as unknown as AgentRuns;
  const resets: string[] = [];
  const sessions = {
    freshen: async () => undefined,
    ensure: async () => undefined,
    get: async () => settings(),
    reset: async (_key: string, reason: string) => void resets.push(reason),
  } as unknown as Sessions;
  const { commands } = openCommands({ sessions: { get: () => sessions } });
  const log = (_fields: object, line: string) => void lines.push(line);
  const answering = new Answering({
    store: {
      accepted: async () => [message],
      attempted: async () => undefined,
      async settle(_key, ending) {
        settle(ending, (calls += 1));
        settled.push(ending);
      },
    },
    outbox: { insert: () => ({ sql: "-", params: [] }), stored: ({ text }: NewText) => void sent.push(text) },
    runs: { get: () => runs },
    sessions: { get: () => sessions },
    attachments,
    live: { begin: () => undefined, end: async () => undefined, rest: async (_message, answer) => answer },
    speech: { filesFor: async () => [], hint: async () => undefined },
    accountOf: () => undefined,
    commands: { get: () => commands },
    isAllowed: isAllowed ?? (() => true),
    clock,
    log: { info: () => undefined, warn: log },
    random: () => 0.5,
    signal: new AbortController().signal,
  });
  return { answering, clock, settled, sent, lines, resets, aborted };
}

describe("an answer", () => {
  const usage = { input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
  const usages: [what: string, settings: () => object, sent: string][] = [
    ["with its usage, where the session wants it", () => ({ responseUsage: "tokens" }), "hi\n\n[tokens: 12 in, 3 out]"],
    ["without its usage, where the session says nothing", () => ({}), "hi"],
    ["without its usage, where the session cannot be read", () => unavailable("storage is away"), "hi"],
  ];
  for (const [what, settings, text] of usages) {
    it(`goes out ${what}`, async () => {
      const { answering, clock, sent } = scene({ settle: () => undefined, settings, usage });
      answering.begin(MESSAGE);
      await clock.advance(1_000);
      assert.deepEqual(sent, [text]);
    });
  }

  it("is not given to a sender who lost access while the message waited", async () => {
    const start = async () => assert.fail("it was begun");
    const { answering, clock, settled, sent } = scene({ settle: () => undefined, start, isAllowed: () => false });
    answering.begin(MESSAGE);
    await clock.advance(1_000);
    assert.deepEqual(settled, [{ status: "silent", reason: "its sender no longer has access" }]);
    assert.deepEqual(sent, []);
  });

  it("is not begun for a sender who lost access while its files were read, which happens once for all attempts", async () => {
    let listed = true;
    let reads = 0;
    let begun = 0;
    const { answering, clock, settled } = scene({
      settle: () => undefined,
      isAllowed: () => listed,
      attachments: async () => {
        reads += 1;
        return { images: [], notes: [] };
      },
      start: async () => {
        listed = ++begun < 2;
        unavailable("the disk is full");
      },
    });
    answering.begin(MESSAGE);
    await clock.advance(60_000);
    assert.deepEqual([begun, reads], [2, 1]);
    assert.deepEqual(settled, [{ status: "silent", reason: "its sender no longer has access" }]);
  });

  it("is not worked on any more once its sender is off the list", async () => {
    let listed = true;
    const wait = () => new Promise<undefined>(() => undefined);
    const { answering, clock, aborted } = scene({ settle: () => undefined, isAllowed: () => listed, wait });
    answering.begin(MESSAGE);
    await clock.advance(1_000);
    answering.recheck();
    assert.deepEqual(aborted, []);
    listed = false;
    answering.recheck();
    assert.equal(aborted[0], "r");
  });

  it("goes out though storage does not say whether it was written, and once", async () => {
    const { answering, clock, sent, lines } = scene({
      settle: (_ending, call) => {
        if (call > 1) throw new GatewayError("CONFLICT", "it was settled before");
        throw new GatewayError("UNAVAILABLE", "the outcome is not known", { retryAfterMs: 100 });
      },
    });
    answering.begin(MESSAGE);
    await clock.advance(10_000);
    assert.deepEqual([sent, lines], [["hi"], []]);
    assert.equal(answering.waiting("pigeon", "a"), 0);
  });

  it("is tried again with back-off while it cannot be recorded, with one warning", async () => {
    const { answering, clock, settled, sent, lines } = scene({
      settle: (_ending, call) => {
        if (call < MAX_FAILURES) throw new Error("the database is damaged");
      },
    });
    answering.begin(MESSAGE);
    await clock.advance(30_000);
    assert.equal(answering.waiting("pigeon", "a"), 1);
    await answering.recover(); // the sweep of each minute leaves it alone
    await clock.advance(3_600_000);
    assert.deepEqual([settled, sent], [[{ status: "answered" }], ["hi"]]);
    assert.deepEqual(lines, ["the outcome of a message could not be recorded; retrying with back-off"]);
    assert.equal(answering.waiting("pigeon", "a"), 0);
  });

  it("fails after too many failures: the person is notified, and the record has the reason", async () => {
    const { answering, clock, settled, sent, lines } = scene({
      settle: ({ status }) => {
        if (status !== "failed") throw new Error("the database is damaged");
      },
    });
    answering.begin(MESSAGE);
    await clock.advance(3_600_000);
    const reason = "its outcome could not be recorded: the database is damaged";
    assert.deepEqual(settled, [{ status: "failed", reason }]);
    assert.deepEqual(sent, [FAILED_TEXT]);
    assert.deepEqual(lines.slice(1), ["a message was not answered"]);
  });

  it("is left to the next start when the gateway is stopping, however often it is looked at", async () => {
    let refusals = 0;
    const { answering, clock, settled, sent, lines, resets } = scene({
      settle: () => undefined,
      command: "/new hello",
      start: async () => {
        refusals += 1;
        throw new GatewayError("UNAVAILABLE", "the gateway is stopping", { details: { code: "GATEWAY_STOPPING" } });
      },
    });
    await answering.recover();
    for (let sweep = 0; sweep < 20; sweep++) {
      await clock.advance(60_000);
      await answering.recover();
    }
    await clock.advance(0);
    assert.deepEqual([settled, sent, lines, resets], [[], [], [], []]);
    assert.equal(refusals, 21);
  });

  it("is left to the next start when even its end cannot be recorded", async () => {
    const settle = () => {
      throw new Error("the database is damaged");
    };
    const { answering, clock, settled, sent, lines } = scene({ settle });
    answering.begin(MESSAGE);
    await clock.advance(3_600_000);
    for (let sweep = 0; sweep < 3; sweep++) {
      await answering.recover();
      await clock.advance(60_000);
    }
    assert.deepEqual([settled, sent], [[], []]);
    assert.equal(
      lines.at(-1),
      "storage cannot record the outcome of a message; the next start of the plugin resumes the message",
    );
    assert.equal(lines.length, 3);
    assert.equal(answering.waiting("pigeon", "a"), 0);
  });
});

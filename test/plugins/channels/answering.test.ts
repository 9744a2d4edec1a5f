/** What becomes of a message that was taken, with a storage that does not say what became of a write. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { AgentRuns, RunOutcome } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import { createFakeClock } from "@svc/sdk/testing";
import { Answering } from "../../../plugins/channels/answering.ts";
import type { AcceptedMessage } from "../../../plugins/channels/inbound-store.ts";
import type { NewText } from "../../../plugins/channels/outbox-store.ts";

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
    principal: { id: "ann", role: "operator", scopes: ["operator.read"], provenance: "plugin", epoch: 0 },
    chatType: "direct",
    replyTo: "ann",
    maxTextChars: 100,
  },
};

describe("an answer", () => {
  it("goes out though storage does not say whether it was written, and once", async () => {
    const clock = createFakeClock();
    const outcome: RunOutcome = { runId: "r", sessionKey: MESSAGE.sessionKey, status: "ok", endedAt: 1, text: "hi" };
    const runs = {
      state: async () => undefined,
      active: () => [],
      queueMode: async () => "followup",
      start: async () => undefined,
      wait: async () => outcome,
    } as unknown as AgentRuns;
    const sessions = { freshen: async () => undefined, ensure: async () => undefined } as unknown as Sessions;
    const settled: string[] = [];
    const sent: string[] = [];
    const answering = new Answering({
      store: {
        accepted: async () => [],
        attempted: async () => undefined,
        async settle(key, { status }) {
          if (settled.length > 0) throw new GatewayError("CONFLICT", "it was settled before");
          settled.push(`${key} ${status}`);
          throw new GatewayError("UNAVAILABLE", "the outcome is not known", { retryAfterMs: 100 });
        },
      },
      outbox: { insert: () => ({ sql: "-", params: [] }), stored: ({ text }: NewText) => void sent.push(text) },
      runs: { get: () => runs },
      sessions: { get: () => sessions },
      clock,
      log: { info: () => undefined, warn: () => undefined },
      random: () => 0.5,
      signal: new AbortController().signal,
    });
    answering.begin(MESSAGE);
    await clock.advance(10_000);
    assert.deepEqual([settled, sent], [["k answered"], ["hi"]]);
    assert.equal(answering.waiting("pigeon", "a"), 0);
  });
});

/** Runs being started when the plugin is replaced: they must not stop runs of the next generation. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunRequest } from "@svc/sdk/agents";
import type { SessionEntry } from "@svc/sdk/sessions";
import { createFakeClock } from "@svc/sdk/testing";
import { Attempts } from "../../../plugins/webhook-agent/attempts.ts";
import { hookJob as job, hookParams } from "./surroundings.ts";

const params = { ...hookParams, deliver: false };
const entry: SessionEntry = { sessionId: "s", updatedAt: 1 };

/** Resets are slow, and runs never end. */
function open() {
  const started: string[] = [];
  let resetNow: () => void = () => assert.fail("nothing is being begun");
  const attempts = new Attempts({
    agents: { timeZone: "UTC" },
    runs: {
      start: async ({ runId, sessionKey, source }: RunRequest, prepare) => {
        await prepare?.();
        started.push(runId);
        return { fresh: true, state: { runId, sessionKey, source, status: "accepted" }, acceptedAt: 1 };
      },
      state: async () => undefined,
      wait: () => new Promise(() => undefined),
      whenIdle: (_key, _signal, work) => work(),
    },
    sessions: {
      get: async () => entry,
      reset: () => new Promise((resolve) => (resetNow = () => resolve(entry))),
      transcript: async () => [],
    },
    clock: createFakeClock(),
  });
  return { attempts, started, resetNow: () => resetNow() };
}

describe("a stop of the plugin", () => {
  it("waits for runs being started", async () => {
    const { attempts, started, resetNow } = open();
    const host = new AbortController();
    const made = assert.rejects(attempts.make(job, params, host.signal), { code: "UNAVAILABLE" });
    await sleep(1);
    const order: string[] = [];
    const stopped = attempts.stop().then(() => order.push("stopped", ...started));
    await sleep(1);
    assert.deepEqual(order, []);
    resetNow();
    await stopped;
    assert.deepEqual(order, ["stopped", "r1"]);
    host.abort();
    await made;
  });

  it("starts no more runs, and rejects once the host aborts", async () => {
    const { attempts, started } = open();
    const host = new AbortController();
    await attempts.stop();
    let answered = false;
    const made = assert
      .rejects(attempts.make(job, params, host.signal), { code: "UNAVAILABLE" })
      .then(() => (answered = true));
    await sleep(1);
    assert.equal(answered, false, "it would count as a failure");
    host.abort();
    await made;
    assert.deepEqual(started, []);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ModelEvent, ModelRequest } from "@svc/sdk/models";
import { createOfflineProvider } from "../../../plugins/provider-offline/provider.ts";

/** A clock whose timers the test fires. */
function heldClock() {
  const timers = new Set<() => void>();
  return {
    timers,
    setTimeout(callback: () => void) {
      timers.add(callback);
      return () => void timers.delete(callback);
    },
  };
}

const account = { name: "offline" };
const request = (text: string): ModelRequest => ({
  model: { provider: "offline", id: "offline", name: "Offline responder", api: "offline" },
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text }], timestamp: 1 }],
  tools: [{ name: "session_status", description: "", parameters: { type: "object" } }],
});

async function read(text: string): Promise<ModelEvent[]> {
  const provider = createOfflineProvider({ wordDelayMs: 0, clock: heldClock(), newId: () => "1" });
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(request(text), account, new AbortController().signal)) events.push(event);
  return events;
}

describe("offline provider", () => {
  it("streams word by word, keeps the blanks, and reports no usage", async () => {
    assert.deepEqual(await read("echo one  two\nthree"), [
      { type: "text", delta: "one  " },
      { type: "text", delta: "two\n" },
      { type: "text", delta: "three" },
      { type: "finish", reason: "stop" },
    ]);
  });

  it("finishes a tool call with toolUse", async () => {
    assert.deepEqual(await read("status"), [
      { type: "toolCall", id: "call_1", name: "session_status", arguments: {} },
      { type: "finish", reason: "toolUse" },
    ]);
  });

  it("waits between words", async () => {
    const clock = heldClock();
    const provider = createOfflineProvider({ wordDelayMs: 8, clock });
    const events = provider.stream(request("echo a b"), account, new AbortController().signal)[Symbol.asyncIterator]();
    await events.next();
    const second = events.next();
    assert.equal(clock.timers.size, 1);
    for (const fire of clock.timers) fire();
    assert.deepEqual(await second, { done: false, value: { type: "text", delta: "b" } });
  });

  it("stops at the signal and leaves no timer behind", async () => {
    const clock = heldClock();
    const abort = new AbortController();
    const provider = createOfflineProvider({ wordDelayMs: 8, clock });
    const events = provider.stream(request("echo a b"), account, abort.signal)[Symbol.asyncIterator]();
    await events.next();
    const second = events.next();
    abort.abort(new Error("stop it"));
    await assert.rejects(second, { message: "stop it" });
    assert.equal(clock.timers.size, 0);
  });
});

/** Runs a program waits for: what it is told, and that nothing outlives it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AnswerStep, createAskedRuns, outcomeOf } from "@svc/kit/runs";
import type { Principal } from "@svc/sdk";
import type { AgentRuns, RunEvent, RunOutcome, RunRequest } from "@svc/sdk/agents";

const request: RunRequest = {
  runId: "r1",
  sessionKey: "agent:main:x",
  message: "hi",
  source: "test",
  principal: {} as Principal, // looked at by nobody here
};
const outcome: RunOutcome = { runId: "r1", sessionKey: "agent:main:x", status: "ok", endedAt: 1, text: "fine" };

function scene(start: Partial<AgentRuns> = {}) {
  const aborted: string[] = [];
  const runs = {
    active: () => [],
    start: async () => ({ fresh: true }),
    abort: (runId: string, reason: string) => aborted.push(`${runId} ${reason}`) > 0,
    ...start,
  } as unknown as AgentRuns; // the rest is asked by nobody here
  const asked = createAskedRuns({
    runs,
    sessions: { get: async () => undefined, sendPolicy: () => "allow", freshen: () => Promise.reject(new Error()) },
  });
  const event = (data: object, more: object = {}): RunEvent => ({
    runId: "r1",
    seq: 1,
    stream: "assistant",
    ts: 1,
    sessionKey: "agent:main:x",
    data: { ...data },
    ...more,
  });
  const say = (text: string, delta: string) => asked.take(event({ text, delta }));
  const end = () => asked.take(event({ phase: "end" }, { stream: "lifecycle", outcome }));
  return { asked, aborted, say, end };
}

async function told(steps: AsyncIterable<AnswerStep>): Promise<string[]> {
  const texts: string[] = [];
  for await (const step of steps) texts.push(step.type === "text" ? step.delta : step.outcome.status);
  return texts;
}

describe("a run a program waits for", () => {
  it("is told as text that adds up to the whole, what parts it from before tools included", async () => {
    const { asked, say, end } = scene();
    const steps = await asked.ask(request, new AbortController().signal);
    say("Let", "Let");
    say("Let me.", " me.");
    say("Let me.\n\nDone", "Done");
    say("Let me.\n\nDone!", "!");
    end();
    assert.deepEqual(await told(steps), ["Let", " me.", "\n\nDone", "!", "ok"]);
  });

  it("is stopped when whoever reads it returns", async () => {
    const { asked, aborted, say } = scene();
    const steps = await asked.ask(request, new AbortController().signal);
    say("a", "a");
    await steps.next();
    await steps.return(undefined);
    assert.deepEqual(aborted, ["r1 disconnect"]);
  });

  it("is stopped when its signal aborts, also before it was accepted, and not once it has ended", async () => {
    const gone = new AbortController();
    const { asked, aborted, end } = scene({ start: async () => (gone.abort(), { fresh: true }) as never }); // only that is looked at
    const steps = await asked.ask(request, gone.signal);
    assert.ok(aborted.includes("r1 disconnect"));
    end();
    assert.deepEqual(await told(steps), ["ok"]);
    const late = new AbortController();
    const other = scene();
    await other.asked.ask(request, late.signal); // never read
    other.end();
    late.abort();
    assert.deepEqual(other.aborted, []);
  });

  it("is stopped with the plugin that asked, and whoever waits is told", async () => {
    const { asked, aborted, say } = scene();
    const steps = await asked.ask(request, new AbortController().signal);
    say("a", "a");
    const outcome = outcomeOf(steps);
    asked.stop();
    await assert.rejects(outcome, { code: "UNAVAILABLE" });
    assert.ok(aborted.includes("r1 disconnect"));
  });

  it("is refused under an id that was used", async () => {
    const { asked } = scene({ start: async () => ({ fresh: false }) as never }); // only that is looked at
    await assert.rejects(asked.ask(request, new AbortController().signal), { code: "CONFLICT" });
  });
});

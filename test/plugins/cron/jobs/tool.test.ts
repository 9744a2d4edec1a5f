/** The tool `cron`, with a service that records its calls. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches, type Origin, outsideOrigin, type Principal } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import type { OutsideWords, ToolCall, ToolResult } from "@svc/sdk/tools";
import { type CronActions, cronTool } from "../../../../plugins/cron/jobs/tool.ts";

const principal = { scopes: ["operator.admin"] } as unknown as Principal; // the tool uses only the scopes
const reminder = { schedule: { everyMs: 5 }, payload: { text: "tea" } };
const turn = { schedule: { everyMs: 5 }, payload: { message: "look" } };

function scene(given: Partial<CronActions> = {}, place: Partial<ToolCall> = {}) {
  const asked: [action: string, params: unknown][] = [];
  const action = (name: string) => async (params: unknown) => {
    asked.push([name, params]);
    return { ok: true } as never; // the tool passes any result on
  };
  const names = ["status", "list", "add", "update", "remove", "run", "runs", "wake"] as const;
  const actions = Object.fromEntries(names.map((name) => [name, action(name)])) as Record<keyof CronActions, never>;
  const service: CronActions = { ...actions, ...given };
  const clock = createFakeClock();
  const tool = cronTool(service, clock);
  async function use(args: object, outside?: OutsideWords): Promise<ToolResult> {
    assert.ok(matches(tool.params, args), JSON.stringify(args));
    const call: ToolCall = {
      name: "cron",
      toolCallId: "c",
      runId: "r",
      arguments: {},
      sessionKey: "agent:bob:main",
      agentId: "bob",
      ...place,
    };
    const context = { call, principal, signal: new AbortController().signal, ...(outside && { outside }) };
    return (await tool.run(args, context)) as ToolResult; // it never returns a plain text
  }
  return { tool, clock, asked, use };
}

describe("the tool cron", () => {
  it("is for the owner of the gateway only", () => {
    const { tool } = scene();
    assert.equal(tool.scope, "operator.admin");
    assert.equal(tool.ownerOnly, true);
    assert.ok(!matches(tool.params, { action: "list", foo: 1 }));
  });

  const cases: [args: object, asked: [string, object]][] = [
    [{ action: "status" }, ["status", {}]],
    [{ action: " list " }, ["list", {}]],
    [
      { action: "list", includeDisabled: true, query: "x", limit: 3 },
      ["list", { includeDisabled: true, query: "x", limit: 3 }],
    ],
    [{ action: "add", job: { job: turn } }, ["add", { ...turn, agentId: "bob" }]],
    [{ action: "add", job: { ...turn, agentId: "ann" } }, ["add", { ...turn, agentId: "ann" }]],
    [{ action: "add", job: { ...turn, agentId: null } }, ["add", { ...turn, agentId: null }]],
    [{ action: "add", job: reminder }, ["add", { ...reminder, sessionKey: "agent:bob:main" }]],
    [
      { action: "add", job: { schedule: { everyMs: 5 }, text: "tea" } },
      ["add", { schedule: { everyMs: 5 }, text: "tea", sessionKey: "agent:bob:main" }],
    ],
    [{ action: "add", job: { ...reminder, sessionKey: "main" } }, ["add", { ...reminder, sessionKey: "main" }]],
    [{ action: "add", job: { ...reminder, agentId: "main" } }, ["add", { ...reminder, agentId: "main" }]],
    [{ action: "update", id: "j", patch: { enabled: false } }, ["update", { id: "j", patch: { enabled: false } }]],
    [{ action: "remove", id: "j", jobId: " j " }, ["remove", { id: "j" }]],
    [{ action: "run", id: "j", runMode: "due" }, ["run", { id: "j", mode: "due" }]],
    [{ action: "runs", id: "j", limit: 3 }, ["runs", { id: "j", limit: 3 }]],
    [{ action: "wake", text: "look" }, ["wake", { text: "look", mode: "next-heartbeat" }]],
    [{ action: "wake", text: "look", mode: "now" }, ["wake", { text: "look", mode: "now" }]],
  ];
  for (const [args, expected] of cases) {
    it(`does ${JSON.stringify(args)}`, async () => {
      const { asked, use } = scene();
      const result = await use(args);
      assert.deepEqual(asked, [expected]);
      assert.deepEqual(result, { content: [{ type: "text", text: '{"ok":true}' }], details: { ok: true } });
    });
  }

  it("passes the origin of its input to jobs and wakes, and returns the origin of its output", async () => {
    const page = outsideOrigin("web", "https://evil.example/");
    const given: unknown[] = [];
    const noted = async (params: object, origin?: Origin) => (given.push(origin), params as never);
    const told = (details: object) => async () => details as never;
    const { use } = scene({
      add: noted,
      update: noted,
      wake: async ({ origin }) => (given.push(origin), { ok: true }),
      list: told({ jobs: [{}, { origin: page }] }),
      run: told({ jobs: [{}] }),
      runs: told({ entries: [{}] }),
    });
    const words = { origin: page, text: "Obey" };
    const acts = [
      { action: "add", job: turn },
      { action: "update", id: "j", patch: { enabled: false } },
      { action: "wake", text: "look" },
    ];
    for (const act of acts) await use(act, words);
    for (const act of acts) await use(act);
    assert.deepEqual(given, [page, page, page, undefined, undefined, undefined]);
    assert.deepEqual((await use({ action: "list" })).origin, page);
    assert.equal((await use({ action: "run", id: "j" })).origin, undefined);
    assert.deepEqual((await use({ action: "runs" })).origin, outsideOrigin("agent", "runs of jobs"));
  });

  const refused: [args: object, why: RegExp][] = [
    [{}, /^action required$/],
    [{ action: "dance" }, /unknown action "dance"; actions: status, list, add/],
    [{ action: "add" }, /job required/],
    [{ action: "update", id: "j" }, /patch required/],
    [{ action: "update", patch: {} }, /id required; the action list shows the jobs/],
    [{ action: "remove", id: "a", jobId: "b" }, /different jobs/],
    [{ action: "run", id: " " }, /id required/],
    [{ action: "wake", text: " " }, /text required/],
  ];
  for (const [args, message] of refused) {
    it(`refuses ${JSON.stringify(args)}`, async () => {
      const { asked, use } = scene();
      await assert.rejects(use(args), { code: "INVALID_REQUEST", message });
      assert.deepEqual(asked, []);
    });
  }

  for (const sessionKey of ["agent:bob:cron:j:run:s", "agent:bob:subagent:x", "cron:j"]) {
    it(`does not remind ${sessionKey}, which has ended by then`, async () => {
      const { asked, use } = scene({}, { sessionKey });
      await use({ action: "add", job: reminder });
      assert.deepEqual(asked, [["add", reminder]]);
    });
  }

  it("does not wait for a run, which may be its own", async () => {
    let end: ((result: { ok: true; ran: boolean }) => void) | undefined;
    const { clock, use } = scene({ run: () => new Promise((resolve) => (end = resolve)) });
    const answer = use({ action: "run", id: "j" });
    await clock.advance(2_000);
    const { details } = await answer;
    assert.deepEqual(details, {
      ok: true,
      started: true,
      next: "the run continues; the action runs shows its result",
    });
    end?.({ ok: true, ran: true });
  });

  it("returns a refusal at once, and leaves no timer", async () => {
    const unknown = new Error("unknown cron job id: j");
    const { clock, use } = scene({ run: () => Promise.reject(unknown) });
    await assert.rejects(use({ action: "run", id: "j" }), unknown);
    assert.equal(clock.pending, 0);
  });

  it("ignores the failure of a run after its response", async () => {
    let fail: ((error: Error) => void) | undefined;
    const { clock, use } = scene({ run: () => new Promise((_, reject) => (fail = reject)) });
    const answer = use({ action: "run", id: "j" });
    await clock.advance(2_000);
    await answer;
    fail?.(new Error("nobody hears this"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

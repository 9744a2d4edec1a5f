import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CommandContext } from "@svc/sdk/cli";
import { refusal } from "@svc/sdk/errors";
import type { HeartbeatReport } from "@svc/sdk/heartbeat";
import commands, { reportLines } from "../../../plugins/heartbeat/cli.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** Runs a command against a gateway with this response; an `Error` is a refusal. */
async function run(name: string, answer: unknown, given: Partial<CommandContext> = {}) {
  const printed: unknown[] = [];
  const asked: unknown[] = [];
  const client = {
    async call(method: { name: string }, params: object) {
      asked.push([method.name, params]);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    close: async () => undefined,
  } as unknown as Client; // the parts the commands use
  const context: CommandContext = {
    args: [],
    options: { mode: "now" },
    json: false,
    async connect(options) {
      asked.push(options?.scopes);
      return client;
    },
    print: (value) => void printed.push(value),
    stateDir: "/nowhere",
    target: () => Promise.reject(new Error("not asked for")),
    note: () => undefined,
    input: process.stdin,
    output: process.stdout,
    ...given,
  };
  await commands.find((command) => command.name === name)?.run(context);
  return { printed, asked };
}

const report: HeartbeatReport = { ts: 0, status: "sent", channel: "pigeon", to: "ann", durationMs: 7, preview: "Dry." };

describe("svc wake and svc heartbeat", () => {
  it("add an event to the main session", async () => {
    const { printed, asked } = await run("wake", { ok: true }, { args: ["rain"] });
    assert.deepEqual(asked, [["operator.write"], ["wake", { mode: "now", text: "rain" }]]);
    assert.deepEqual(printed, ["Event added; waking the session."]);
    const later = await run("wake", { ok: true }, { args: ["rain"], options: { mode: "next-heartbeat" } });
    assert.deepEqual(later.printed, ["Event added to the next turn."]);
  });

  it("refuse a blank text and an unknown mode", async () => {
    await assert.rejects(run("wake", { ok: false }, { args: [" "] }), { message: /blank/ });
    await assert.rejects(run("wake", { ok: true }, { args: ["x"], options: { mode: "soon" } }), { message: /--mode/ });
  });

  it("switch heartbeats on and off", async () => {
    for (const [word, enabled] of [
      ["on", true],
      ["off", false],
    ] as const) {
      const { printed, asked } = await run(`heartbeat ${word}`, { ok: true, enabled });
      assert.deepEqual(asked, [["operator.admin"], ["set-heartbeats", { enabled }]]);
      assert.deepEqual(printed, [`Heartbeats: ${word}`]);
    }
  });

  it("show the last heartbeat as text and as JSON", async () => {
    const lines = ["1970-01-01 00:00:00Z: sent to ann on pigeon", "Took: 7 ms", "Answer: Dry."];
    assert.deepEqual((await run("heartbeat last", report)).printed, lines);
    assert.deepEqual((await run("heartbeat last", report, { json: true })).printed, [report]);
    assert.deepEqual(reportLines(null), ["No heartbeat since the gateway started."]);
    assert.deepEqual(reportLines({ ts: 0, status: "skipped", reason: "quiet-hours" }), [
      "1970-01-01 00:00:00Z: skipped (quiet-hours)",
    ]);
  });

  it("print the next step if the gateway has no heartbeats", async () => {
    const unknown = refusal("UNKNOWN_METHOD", "unknown method: wake");
    await assert.rejects(run("wake", unknown, { args: ["x"] }), { message: /Next: svc plugins why heartbeat/ });
  });
});

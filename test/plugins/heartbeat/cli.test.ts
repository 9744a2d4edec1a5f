import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { refusal } from "@svc/sdk/errors";
import type { HeartbeatReport } from "@svc/sdk/heartbeat";
import { runCommand } from "@svc/sdk/testing";
import commands, { reportLines } from "../../../plugins/heartbeat/cli.ts";

const report: HeartbeatReport = { ts: 0, status: "sent", channel: "pigeon", to: "ann", durationMs: 7, preview: "Dry." };

const wake = (text: string, answer: unknown, mode?: string) =>
  runCommand(commands, "wake", { args: [text], answers: { wake: answer }, ...(mode ? { options: { mode } } : {}) });

describe("svc wake and svc heartbeat", () => {
  it("add an event to the main session", async () => {
    const { printed, asked, scopes } = await wake("rain", { ok: true });
    assert.deepEqual([scopes, asked], [["operator.write"], [["wake", { mode: "now", text: "rain" }]]]);
    assert.deepEqual(printed, ["Event added; waking the session."]);
    const later = await wake("rain", { ok: true }, "next-heartbeat");
    assert.deepEqual(later.printed, ["Event added to the next turn."]);
  });

  it("refuse a blank text, an unknown mode, and a gateway without heartbeats with the next step", async () => {
    assert.match((await wake(" ", { ok: false })).message, /blank/);
    assert.match((await wake("x", { ok: true }, "soon")).message, /--mode/);
    const unknown = await wake("x", refusal("UNKNOWN_METHOD", "unknown method: wake"));
    assert.match(unknown.message, /Next: svc plugins why heartbeat/);
  });

  for (const [word, enabled] of [
    ["on", true],
    ["off", false],
  ] as const) {
    it(`switch heartbeats ${word}`, async () => {
      const answers = { "set-heartbeats": { ok: true, enabled } };
      const { printed, asked, scopes } = await runCommand(commands, `heartbeat ${word}`, { answers });
      assert.deepEqual([scopes, asked], [["operator.admin"], [["set-heartbeats", { enabled }]]]);
      assert.deepEqual(printed, [`Heartbeats: ${word}`]);
    });
  }

  it("show the last heartbeat as text and as JSON", async () => {
    const answers = { "last-heartbeat": report };
    const lines = ["1970-01-01 00:00:00Z: sent to ann on pigeon", "Took: 7 ms", "Answer: Dry."];
    assert.deepEqual((await runCommand(commands, "heartbeat last", { answers })).printed, lines);
    assert.deepEqual((await runCommand(commands, "heartbeat last", { answers, json: true })).printed, [report]);
    assert.deepEqual(reportLines(null), ["No heartbeat since the gateway started."]);
    assert.deepEqual(reportLines({ ts: 0, status: "skipped", reason: "quiet-hours" }), [
      "1970-01-01 00:00:00Z: skipped (quiet-hours)",
    ]);
  });
});

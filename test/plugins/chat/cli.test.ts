import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import { runCommand } from "@svc/sdk/testing";
import commands, { readSettings } from "../../../plugins/chat/cli.ts";
import { createFakeClient, settle } from "./chat-client.ts";

const defaults = { session: "main", history: "20" };
const settings = { sessionKey: "main", message: undefined, history: 20, thinking: undefined, timeoutMs: undefined };

describe("the options of svc chat", () => {
  it("are read with their defaults", () => {
    const rows: [options: Record<string, string>, expected: object][] = [
      [{}, {}],
      [
        { session: "notes", history: "0" },
        { sessionKey: "notes", history: 0 },
      ],
      [
        { timeout: "90", thinking: "low" },
        { timeoutMs: 90_000, thinking: "low" },
      ],
    ];
    for (const [options, expected] of rows)
      assert.deepEqual(readSettings({ ...defaults, ...options }, false), { ...settings, ...expected });
  });

  it("are refused when they mean nothing, and --json without a message", () => {
    for (const options of [{ history: "1001" }, { history: "-1" }, { timeout: "soon" }])
      assert.throws(() => readSettings({ ...defaults, ...options }, false), { code: "INVALID_REQUEST" });
    assert.throws(() => readSettings(defaults, true), { code: "INVALID_REQUEST" });
  });
});

describe("svc chat --message", () => {
  function start(json: boolean) {
    const fake = createFakeClient();
    const asked: unknown[] = [];
    const done = runCommand(commands, "chat", {
      options: { message: "hi" },
      json,
      connect: async (wanted) => {
        asked.push(wanted);
        return fake.client as GatewayClient; // the command uses only this part
      },
    });
    const runId = () => (fake.calls[0]?.[1] as { idempotencyKey: string } | undefined)?.idempotencyKey ?? "none";
    return { ...fake, asked, done, runId };
  }

  it("requests only read and write, prints the reply and exits with 0", async () => {
    const { asked, says, done, runId } = start(false);
    await settle();
    says(runId(), "final", "Hello");
    const { code, printed } = await done;
    assert.deepEqual([code, printed.join("")], [0, "Hello\n"]);
    assert.deepEqual(asked, [{ scopes: ["operator.read", "operator.write"], caps: ["tool-events"] }]);
  });

  it("prints one value with --json, and exits with 1 when the reply failed", async () => {
    const { says, done, runId } = start(true);
    await settle();
    const id = runId();
    says(id, "delta", "Hel");
    says(id, "error", "", { errorMessage: "no model" });
    const { code, printed } = await done;
    assert.equal(code, 1);
    assert.deepEqual(printed, [{ runId: id, status: "error", text: "", reason: "no model" }]);
  });

  it("prints the next step and exits with 1 when the connection is lost", async () => {
    const { breaks, done } = start(false);
    await settle();
    breaks();
    const { code, notes } = await done;
    assert.equal(code, 1);
    assert.match(notes.join("\n"), /svc gateway probe/);
  });
});

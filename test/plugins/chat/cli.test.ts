import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CommandContext } from "@svc/sdk/cli";
import commands, { readSettings } from "../../../plugins/chat/cli.ts";
import { createFakeClient, settle } from "./chat-client.ts";
import { PassThrough } from "node:stream";

const defaults = { session: "main", history: "20" };
const settings = { sessionKey: "main", message: undefined, history: 20, thinking: undefined, timeoutMs: undefined };

describe("the options of svc chat", () => {
  const rows: [options: Record<string, string>, expected: object][] = [
    [{}, settings],
    [
      { session: "notes", history: "0" },
      { ...settings, sessionKey: "notes", history: 0 },
    ],
    [
      { timeout: "90", thinking: "low" },
      { ...settings, timeoutMs: 90_000, thinking: "low" },
    ],
    [
      { timeout: "0", message: "hi" },
      { ...settings, timeoutMs: 0, message: "hi" },
    ],
  ];
  for (const [options, expected] of rows) {
    it(`read ${JSON.stringify(options)}`, () =>
      assert.deepEqual(readSettings({ ...defaults, ...options }, false), expected));
  }
  const refused: [options: Record<string, string>, json: boolean][] = [
    [{ history: "1001" }, false],
    [{ history: "-1" }, false],
    [{ timeout: "soon" }, false],
    [{}, true],
  ];
  for (const [options, json] of refused) {
    it(`refuse ${JSON.stringify(options)}${json ? " with --json" : ""}`, () =>
      assert.throws(() => readSettings({ ...defaults, ...options }, json), { code: "INVALID_REQUEST" }));
  }
});

describe("svc chat --message", () => {
  function start(json: boolean) {
    const fake = createFakeClient();
    const asked: unknown[] = [];
    const printed: unknown[] = [];
    const notes: string[] = [];
    const output = new PassThrough();
    const context: CommandContext = {
      args: [],
      options: { ...defaults, message: "hi" },
      json,
      connect: async (options) => {
        asked.push(options);
        return fake.client as Awaited<ReturnType<CommandContext["connect"]>>; // the command uses only this part
      },
      print: (value) => void printed.push(value),
      stateDir: "/nowhere",
      target: () => Promise.reject(new Error("not asked for")),
      note: (line) => void notes.push(line),
      input: new PassThrough(),
      output,
    };
    const done = commands[0]?.run(context);
    const runId = () => (fake.calls[0]?.[1] as { idempotencyKey: string } | undefined)?.idempotencyKey ?? "none";
    return { ...fake, asked, printed, notes, done, runId, text: () => String(output.read() ?? "") };
  }

  it("requests only read and write, prints the reply and exits with 0", async () => {
    const { asked, says, done, runId, text } = start(false);
    await settle();
    says(runId(), "final", "Hello");
    assert.equal(await done, 0);
    assert.deepEqual(asked, [{ scopes: ["operator.read", "operator.write"], caps: ["tool-events"] }]);
    assert.equal(text(), "Hello\n");
  });

  it("prints one value with --json, and exits with 1 when the reply failed", async () => {
    const { says, done, runId, text, printed } = start(true);
    await settle();
    const id = runId();
    says(id, "delta", "Hel");
    says(id, "error", "", { errorMessage: "no model" });
    assert.equal(await done, 1);
    assert.deepEqual(printed, [{ runId: id, status: "error", text: "", reason: "no model" }]);
    assert.equal(text(), "");
  });

  it("prints the next step and exits with 1 when the connection is lost", async () => {
    const { breaks, done, notes } = start(false);
    await settle();
    breaks();
    assert.equal(await done, 1);
    assert.match(notes.join("\n"), /svc gateway probe/);
  });
});

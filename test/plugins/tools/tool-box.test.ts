import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { notFound, Strict, Type } from "@svc/sdk";
import type { Approver } from "@svc/sdk/gateway";
import { textOf } from "@svc/sdk/models";
import { defineTool, type Tool, type ToolAttempt, type ToolCall, type ToolResult } from "@svc/sdk/tools";
import type { FromOutside } from "../../../plugins/tools/authority.ts";
import { OutsideGate } from "../../../plugins/tools/outside-gate.ts";
import { ToolShelf } from "../../../plugins/tools/shelf.ts";
import { MAX_RESULT_CHARS, ToolBox, type ToolHooks } from "../../../plugins/tools/tool-box.ts";
import { MAIN, principal } from "../agents/script.ts";
import { silentLog } from "../agents/silent-log.ts";
import { hook, extensionView, waterfall } from "../emitters.ts";

const call = (args: Record<string, unknown> = { path: "/a" }): ToolCall => ({
  name: "read",
  toolCallId: "c1",
  arguments: args,
  runId: "r1",
  sessionKey: MAIN,
  agentId: "main",
});

/** A tool that reads; each case changes one field. */
function readTool(changes: Partial<Tool> = {}): Tool {
  const params = Strict({ path: Type.String(), limit: Type.Integer({ default: 3 }) });
  const tool = defineTool({
    description: "Reads a file",
    params,
    scope: "operator.read",
    run: ({ path, limit }) => `${path} ${limit}`,
  });
  return { ...tool, ...changes };
}

interface Options {
  readonly tool?: Tool;
  readonly hooks?: Partial<ToolHooks>;
  readonly mode?: FromOutside;
  readonly approver?: Approver;
  readonly isLive?: () => boolean;
}

function box({ tool = readTool(), hooks = {}, mode = "ask", approver, isLive = () => true }: Options = {}): ToolBox {
  const all = { params: waterfall(), before: hook(), result: waterfall(), ...hooks } as ToolHooks;
  const tools = extensionView({ read: tool });
  const shelf = new ToolShelf({ tools, sources: extensionView(), judge: (known) => known, log: silentLog });
  const gate = new OutsideGate({ mode: () => mode, sessions: () => undefined, approver: () => approver });
  return new ToolBox({ shelf, tools, hooks: all, gate, credentials: { isLive }, log: silentLog });
}

const scene = { surface: "run", agentId: "main", sessionKey: MAIN, principal } as const;

const never = new AbortController().signal;
const use = (options: Options = {}, wish = call()) => box(options).attempt(wish, scene, never);
/** The outcome as text. */
function told(attempt: ToolAttempt): readonly [outcome: string, text?: string] {
  if (attempt.outcome === "done") return [attempt.result.isError === true ? "error" : "done", textOf(attempt.result)];
  return attempt.outcome === "refused" ? ["refused", attempt.error.message] : [attempt.outcome];
}

describe("tools", () => {
  it("runs a tool with its defaults filled in", async () => {
    assert.deepEqual(told(await use()), ["done", "/a 3"]);
  });

  it("says which tools are independent", () => {
    const offered = (tool: Tool) => box({ tool }).specs(scene)[0]?.independent;
    assert.deepEqual([offered(readTool({ independent: true })), offered(readTool())], [true, undefined]);
  });

  it("offers the tools the principal may use", () => {
    const [offered] = box().specs(scene);
    assert.deepEqual([offered?.name, offered?.description], ["read", "Reads a file"]);
    assert.deepEqual(box({ tool: readTool({ scope: "operator.admin" }) }).specs(scene), []);
  });

  const refusals: [string, Options, ToolCall, RegExp][] = [
    [
      "arguments that do not fit",
      {},
      call({ path: 5 }),
      /invalid arguments for the tool read: at \/path: must be string/,
    ],
    [
      "a scope the principal lacks",
      { tool: readTool({ scope: "operator.admin" }) },
      call(),
      /the scope operator.admin is missing/,
    ],
    [
      "a principal whose credential ended while people were asked",
      { isLive: () => false },
      call(),
      /not allowed: the credential of this call has ended/,
    ],
    [
      "a tool of the owner to anybody else",
      { tool: readTool({ ownerOnly: true }) },
      call(),
      /not allowed: only runs of the gateway's owner may use this tool/,
    ],
    [
      "what a gate denies",
      { hooks: { before: hook(() => ({ allow: false, reason: "not on Sundays" })) } },
      call(),
      /not allowed: not on Sundays/,
    ],
  ];
  for (const [what, options, wish, message] of refusals) {
    it(`refuses ${what} and does not run it`, async () => {
      let ran = false;
      const tool = { ...(options.tool ?? readTool()), run: () => ((ran = true), "ran") };
      const [outcome, text] = told(await use({ ...options, tool }, wish));
      assert.equal(outcome, "refused");
      assert.match(String(text), message);
      assert.equal(ran, false);
    });
  }

  it("validates arguments changed by the params hook, and ignores its other changes", async () => {
    const seen: ToolCall[] = [];
    const change = (arguments_: object) =>
      waterfall((wish: ToolCall) => ({ ...wish, name: "rm", arguments: arguments_ as ToolCall["arguments"] }));
    const before = hook((final: ToolCall) => void seen.push(final));
    assert.deepEqual(told(await use({ hooks: { params: change({ path: "/b" }), before } })), ["done", "/b 3"]);
    assert.equal(seen[0]?.name, "read");
    assert.match(
      String(told(await use({ hooks: { params: change({ path: 1 }) } }))[1]),
      /invalid arguments for the tool read/,
    );
  });

  it("passes the gate a frozen call, and runs exactly that call", async () => {
    const seen: ToolCall[] = [];
    const before = hook((final: ToolCall) => void seen.push(final));
    const tool = readTool({ run: (_params, context) => (seen.push(context.call), "") });
    const wish = call();
    await use({ tool, hooks: { before } }, wish);
    const [gated, ran] = seen;
    assert.ok(gated && Object.isFrozen(gated) && Object.isFrozen(gated.arguments));
    assert.equal(ran, gated);
    assert.equal(Object.isFrozen(wish.arguments), false);
  });

  it("reports an unknown tool", async () => {
    assert.deepEqual(told(await use({}, { ...call(), name: "write" })), ["unknown"]);
  });

  it("stops a dry run before the gate, with defaults filled in", async () => {
    const before = hook(() => assert.fail("nobody is asked"));
    const tool = readTool({ run: () => assert.fail("it ran") });
    const attempt = await box({ tool, hooks: { before } }).attempt(call(), scene, never, { dryRun: true });
    assert.deepEqual(attempt, { outcome: "checked", arguments: { path: "/a", limit: 3 } });
  });

  it("lets the result hook change the answer", async () => {
    const result = waterfall((given: ToolResult & { call: ToolCall }) => ({
      ...given,
      content: [{ type: "text" as const, text: `${given.call.name}: ${textOf(given)}` }],
    }));
    assert.deepEqual(told(await use({ hooks: { result } })), ["done", "read: /a 3"]);
  });

  const failures: [string, () => string, ...ReturnType<typeof told>][] = [
    ["says what a refusal of the tool says", () => notFound("no file /a"), "refused", "no file /a"],
    ["hides what an unexpected error says", () => assert.fail("secret"), "failed"],
    ["tells an answer without content apart", () => ({}) as string, "error", "the tool read returned no valid result"],
  ];
  for (const [what, run, ...expected] of failures) {
    it(what, async () => assert.deepEqual(told(await use({ tool: readTool({ run }) })), expected));
  }

  it("cuts the text of a result at 100,000 characters, all blocks together", async () => {
    const block = { type: "text" as const, text: "x".repeat(MAX_RESULT_CHARS - 10) };
    const attempt = await use({ tool: readTool({ run: () => ({ content: [block, block] }) }) });
    const { content } = attempt.outcome === "done" ? attempt.result : assert.fail(attempt.outcome);
    assert.equal(textOf({ content: content.slice(0, 1) }), block.text);
    assert.equal(
      textOf({ content: content.slice(1) }),
      `${"x".repeat(10)}\n[cut: ${MAX_RESULT_CHARS - 20} more characters]`,
    );
  });

  it("rejects as soon as the run ends, even if the tool ignores its signal", async () => {
    const controller = new AbortController();
    const tool = readTool({ run: () => new Promise(() => undefined) });
    const used = box({ tool }).attempt(call(), scene, controller.signal);
    setImmediate(() => controller.abort());
    await assert.rejects(used, { name: "AbortError" });
  });

  it("does not run a tool whose run ended during the gate", async () => {
    const controller = new AbortController();
    let ran = false;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const tool = readTool({ run: () => ((ran = true), "") });
    const used = box({ tool, hooks: { before: hook(() => gate) } }).attempt(call(), scene, controller.signal);
    controller.abort();
    await assert.rejects(used, { name: "AbortError" });
    open();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ran, false);
  });
});

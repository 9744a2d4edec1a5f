/** Contract suite of a tool: parameters, results, and stopping on abort. */
import assert from "node:assert/strict";
import { isGatewayError, messageOf } from "../../gateway-error.ts";
import { type Principal, SCOPES } from "../../principal.ts";
import { deepFreeze, matches, withDefaults } from "../../schema.ts";
import type { Tool, ToolCall, ToolResult } from "../../tools/service.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type ContractContext, inTime, PATIENCE_MS } from "./context.ts";
import { expectFits, leastOf, misfitsOf, withUnknownKey } from "./values.ts";

/** Options of `toolContract`. */
export interface ToolContractOptions {
  readonly tool: Tool;
  /** Name under which the plugin contributes the tool. */
  readonly name: string;
  /** Arguments that the tool must accept. */
  readonly samples: readonly Readonly<Record<string, unknown>>[];
  /** Arguments its schema must reject, in addition to those generated from the schema. */
  readonly invalid?: readonly Readonly<Record<string, unknown>>[];
  /** Facts of the call, e.g. an existing session. */
  readonly call?: Partial<Pick<ToolCall, "runId" | "sessionKey" | "agentId">>;
  /** Default: a principal with every scope. */
  readonly principal?: Principal;
  /** Milliseconds to end after its run was stopped. Default 5000. */
  readonly patienceMs?: number;
}

/** Maximum characters of a result that reach a model; the rest is truncated. */
const MAX_RESULT_CHARS = 100_000;

/** Tool names accepted by every model server. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Registers subtests: the schema, every sample, invalid arguments, a stopped run, and leaked resources. */
export async function toolContract(t: ContractContext, options: ToolContractOptions): Promise<void> {
  const { tool, name, samples, invalid = [], patienceMs = PATIENCE_MS } = options;
  const leaks = startLeakCheck();
  const least = leastOf(tool.params)?.value;

  await t.test(`${name} can be described to a model`, async () => {
    assert.match(name, NAME, "the name must have 1 to 64 letters, digits, _ and -");
    assert.notEqual(
      tool.description.trim(),
      "",
      "the description must say what the tool does and when to use it: models decide by it",
    );
    assert.ok(SCOPES.includes(tool.scope), `scope must be one of ${SCOPES.join(", ")}`);
    const { type, additionalProperties } = tool.params as { type?: unknown; additionalProperties?: unknown };
    assert.equal(type, "object", "params must be the schema of an object");
    assert.equal(
      additionalProperties,
      false,
      "write params with Strict({ ... }): a model that invents a key must get an error",
    );
    assert.deepEqual(
      JSON.parse(JSON.stringify(tool.params)),
      structuredClone(tool.params),
      "params must be plain JSON Schema",
    );
  });

  await t.test(`${name} rejects invalid arguments`, async () => {
    assert.ok(samples.length > 0, "pass at least one sample");
    const fitting = least ?? samples[0];
    const wrong = [...misfitsOf(tool.params, fitting).map(({ value }) => value), withUnknownKey(fitting), ...invalid];
    for (const value of wrong)
      assert.ok(!matches(tool.params, withDefaults(tool.params, value)), `its schema accepts ${JSON.stringify(value)}`);
  });

  for (const [index, sample] of samples.entries())
    await t.test(`${name} answers sample ${index + 1}`, async () => {
      const call = callOf(options, sample);
      expectFits(tool.params, call.arguments, `sample ${index + 1}`);
      expectResult(await run(options, call, new AbortController().signal), name);
    });

  await t.test(`${name} stops with its run`, async () => {
    const late = `${name} did not stop with its run: pass context.signal on to everything that takes time`;
    for (const sample of samples) {
      const stopping = new AbortController();
      const running = run(options, callOf(options, sample), stopping.signal).catch(() => undefined);
      stopping.abort(new Error("the run was stopped"));
      await inTime(running, patienceMs, late);
      await inTime(
        run(options, callOf(options, sample), AbortSignal.abort()).catch(() => undefined),
        patienceMs,
        late,
      );
    }
  });

  await t.test(`${name} leaves nothing open`, () => leaks.expectNone());
}

/** Frozen, like the arguments of a real call. */
function callOf({ name, call, tool }: ToolContractOptions, sample: Readonly<Record<string, unknown>>): ToolCall {
  const given = withDefaults(tool.params, sample) as ToolCall["arguments"]; // an object schema
  const ids = { runId: "contract-run", sessionKey: "agent:main:main", agentId: "main" };
  return deepFreeze({ ...ids, ...call, name, toolCallId: "contract-call", arguments: given });
}

async function run({ tool, principal }: ToolContractOptions, call: ToolCall, signal: AbortSignal): Promise<unknown> {
  const everybody: Principal = { id: "contract", role: "operator", scopes: SCOPES, provenance: "token", epoch: 0 };
  try {
    return await tool.run(call.arguments, { call, principal: principal ?? everybody, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    const what = `${call.name} with ${JSON.stringify(call.arguments)}`;
    if (isGatewayError(error)) throw new Error(`${what} rejects a sample: ${error.message}`, { cause: error });
    const advice = "throw a GatewayError for errors that the model should see";
    throw new Error(`${what} failed: ${messageOf(error)}; ${advice}`, { cause: error });
  }
}

/** A text, or blocks of text and pictures; bounded plain data. */
function expectResult(result: unknown, name: string): void {
  if (typeof result === "string") return expectBounded(result, name);
  const { content, isError } = (result ?? {}) as Partial<ToolResult>; // returned by a plugin: checked below
  assert.ok(Array.isArray(content), `${name} must return a string, or { content: [...] }`);
  assert.ok(isError === undefined || typeof isError === "boolean", `${name}: isError must be true or false`);
  assert.notEqual(isError, true, `${name} returned an error for a sample: ${JSON.stringify(content)}`);
  for (const block of content as ToolResult["content"]) {
    if (block.type === "text") expectBounded(block.text, name);
    else assert.ok(block.type === "image" && block.data && block.mimeType, `${name}: blocks must be text or image`);
  }
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result, `${name} must return plain JSON`);
}

function expectBounded(text: unknown, name: string): void {
  assert.equal(typeof text, "string", `${name}: the text of a block must be a string`);
  const why = `${name} returned more than ${MAX_RESULT_CHARS} characters, which are truncated for models: summarize, or return pages`;
  assert.ok((text as string).length <= MAX_RESULT_CHARS, why);
}

/** The contract of a tool: what a model may ask of it, what it answers, and that it stops when it is told to. */
import assert from "node:assert/strict";
import { isGatewayError, messageOf } from "../../gateway-error.ts";
import { type Principal, SCOPES } from "../../principal.ts";
import { deepFreeze, matches, withDefaults } from "../../schema.ts";
import type { Tool, ToolCall, ToolResult } from "../../tools/service.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type ContractContext, inTime, PATIENCE_MS } from "./context.ts";
import { expectFits, leastOf, misfitsOf, withUnknownKey } from "./values.ts";

/** What is tried. */
export interface ToolContractOptions {
  readonly tool: Tool;
  /** As it is contributed. */
  readonly name: string;
  /** Arguments it must answer. */
  readonly samples: readonly Readonly<Record<string, unknown>>[];
  /** Arguments its schema must refuse, beside those that are made from the schema. */
  readonly invalid?: readonly Readonly<Record<string, unknown>>[];
  /** What the call of a run looks like, e.g. a session that exists. */
  readonly call?: Partial<Pick<ToolCall, "runId" | "sessionKey" | "agentId">>;
  /** Default: one with every scope. */
  readonly principal?: Principal;
  /** Milliseconds it may take after its run was stopped. Default 5000. */
  readonly patienceMs?: number;
}

/** Characters of a result that reach a model; more is cut. */
const MAX_RESULT_CHARS = 100_000;

/** Names that all model servers take. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Registers subtests: the schema, every sample, arguments that do not fit, a run that is stopped, and what is left. */
export async function toolContract(t: ContractContext, options: ToolContractOptions): Promise<void> {
  const { tool, name, samples, invalid = [], patienceMs = PATIENCE_MS } = options;
  const leaks = startLeakCheck();
  const least = leastOf(tool.params)?.value;

  await t.test(`${name} can be told to a model`, async () => {
    assert.match(name, NAME, "a model calls it by 1 to 64 letters, digits, _ and -");
    assert.notEqual(
      tool.description.trim(),
      "",
      "a model decides by the description: say what it does and when to use it",
    );
    assert.ok(SCOPES.includes(tool.scope), `its scope must be one of ${SCOPES.join(", ")}`);
    const { type, additionalProperties } = tool.params as { type?: unknown; additionalProperties?: unknown };
    assert.equal(type, "object", "params must be the schema of an object");
    assert.equal(
      additionalProperties,
      false,
      "write params with Strict({ ... }): a model that invents a key must hear of it",
    );
    assert.deepEqual(
      JSON.parse(JSON.stringify(tool.params)),
      structuredClone(tool.params),
      "params must be plain JSON Schema",
    );
  });

  await t.test(`${name} refuses arguments that do not fit`, async () => {
    assert.ok(samples.length > 0, "give at least one sample");
    const fitting = least ?? samples[0];
    const wrong = [...misfitsOf(tool.params, fitting).map(({ value }) => value), withUnknownKey(fitting), ...invalid];
    for (const value of wrong)
      assert.ok(
        !matches(tool.params, withDefaults(tool.params, value)),
        `its schema lets ${JSON.stringify(value)} through`,
      );
  });

  for (const [index, sample] of samples.entries())
    await t.test(`${name} answers sample ${index + 1}`, async () => {
      const call = callOf(options, sample);
      expectFits(tool.params, call.arguments, `sample ${index + 1}`);
      expectResult(await run(options, call, new AbortController().signal), name);
    });

  await t.test(`${name} stops with its run`, async () => {
    const late = `${name} did not stop when its run was stopped: pass context.signal on to what takes time`;
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

/** Frozen, as the arguments of a call are. */
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
    if (isGatewayError(error)) throw new Error(`${what} refuses a sample: ${error.message}`, { cause: error });
    const advice = "throw a GatewayError where the model should hear why";
    throw new Error(`${what} failed: ${messageOf(error)}; ${advice}`, { cause: error });
  }
}

/** A text, or blocks of text and pictures; bounded, and nothing but data. */
function expectResult(result: unknown, name: string): void {
  if (typeof result === "string") return expectBounded(result, name);
  const { content, isError } = (result ?? {}) as Partial<ToolResult>; // what a plugin returned: looked at below
  assert.ok(Array.isArray(content), `${name} must return a text, or { content: [...] }`);
  assert.ok(isError === undefined || typeof isError === "boolean", `${name}: isError must be true or false`);
  assert.notEqual(isError, true, `${name} says that a sample went wrong: ${JSON.stringify(content)}`);
  for (const block of content as ToolResult["content"]) {
    if (block.type === "text") expectBounded(block.text, name);
    else assert.ok(block.type === "image" && block.data && block.mimeType, `${name}: blocks are text or image`);
  }
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result, `${name} must return plain JSON`);
}

function expectBounded(text: unknown, name: string): void {
  assert.equal(typeof text, "string", `${name}: the text of a block must be a string`);
  const why = `${name} returned more than ${MAX_RESULT_CHARS} characters, of which a model sees the first: summarise, or page`;
  assert.ok((text as string).length <= MAX_RESULT_CHARS, why);
}

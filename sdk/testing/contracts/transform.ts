/**
 * Contract suite of a webhook transform: its examples hold, invalid payloads are rejected, and inputs stay unchanged.
 */
import assert from "node:assert/strict";
import { messageOf } from "../../gateway-error.ts";
import { deepFreeze, describeViolations, matches, Strict, Type } from "../../schema.ts";
import {
  TRANSFORM,
  type Transform,
  type TransformContext,
  type TransformExample,
  type TransformModule,
} from "../../transform.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type ContractContext, inTime } from "./context.ts";
import { misfitsOf } from "./values.ts";

/** Options of `transformContract`. */
export interface TransformContractOptions {
  /** The default export of the file. */
  readonly transform: Transform<never, unknown> | TransformModule;
  /** In addition to the examples in the module. At least one must result in an action. */
  readonly examples?: readonly TransformExample[];
  /** Payloads its schema must reject, in addition to those generated from the schema. */
  readonly invalid?: readonly unknown[];
  /** Milliseconds per call. Default 5000, as in a mapping without a timeout. */
  readonly timeoutMs?: number;
}

const WakeMode = Type.Enum(["now", "next-heartbeat"]);
const Text = Type.Optional(Type.String());
const Flag = Type.Optional(Type.Boolean());

/** Fields of the built-in actions; actions of plugins check their own. */
const ACTIONS = {
  wake: Strict({
    kind: Type.Optional(Type.Literal("wake")),
    text: Text,
    mode: Type.Optional(WakeMode),
    name: Text,
    allowUnsafeExternalContent: Flag,
  }),
  agent: Strict({
    kind: Type.Optional(Type.Literal("agent")),
    message: Text,
    name: Text,
    agentId: Text,
    sessionKey: Text,
    wakeMode: Type.Optional(WakeMode),
    deliver: Flag,
    channel: Text,
    to: Text,
    model: Text,
    thinking: Text,
    timeoutSeconds: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    allowUnsafeExternalContent: Flag,
  }),
};

/** Registers subtests: the examples, invalid payloads, results, and unchanged inputs. */
export async function transformContract(t: ContractContext, options: TransformContractOptions): Promise<void> {
  const { transform: given, invalid = [], timeoutMs = 5_000 } = options;
  const leaks = startLeakCheck();
  const module = moduleOf(given);
  const examples = [...(module.examples ?? []), ...(options.examples ?? [])];
  const run = (example: TransformExample) =>
    inTime(call(module.transform, example), timeoutMs, `${nameOf(example)} is too slow`);

  await t.test("has an example that results in an action", async () => {
    const advice =
      "write an example in the file: { name, payload, expect }; they are checked before a new version goes live";
    assert.ok(
      examples.some(({ expect }) => expect !== null),
      advice,
    );
  });

  for (const [index, example] of examples.entries()) {
    const name = example.name ?? String(index + 1);
    await t.test(`example "${name}" holds`, async () => {
      const { payload } = module;
      if (payload && !matches(payload, example.payload))
        assert.fail(`its payload does not match the schema: ${describeViolations(payload, example.payload)}`);
      const result = await run(example);
      assert.deepEqual(plain(result), plain(example.expect), `example "${name}"`);
      if (result !== null && result !== undefined) expectAction(result);
    });
  }

  await t.test("rejects payloads that do not match its schema", async () => {
    const { payload } = module;
    if (!payload) return assert.deepEqual(invalid, [], "a transform without a payload schema accepts every payload");
    const bad = [...misfitsOf(payload, examples[0]?.payload).map(({ value }) => value), ...invalid];
    for (const value of bad) assert.ok(!matches(payload, value), `its schema accepts ${JSON.stringify(value)}`);
    assert.ok(bad.length > 0, "its payload schema rejects nothing: describe what the transform reads");
  });

  await t.test("returns the same result for the same payload", async () => {
    for (const example of examples)
      assert.deepEqual(plain(await run(example)), plain(await run(example)), nameOf(example));
  });

  await t.test("leaves nothing open", () => leaks.expectNone());
}

function moduleOf(given: TransformContractOptions["transform"]): TransformModule {
  if (typeof given === "function") return { transform: given as Transform };
  const advice = "the default export must be a function, or the result of defineTransform({ ... })";
  assert.ok(typeof given === "object" && TRANSFORM in given, advice);
  return given;
}

/** Calls the transform with a frozen payload, because other mappings may get the same object. */
async function call(
  transform: Transform<never, unknown>,
  { payload, headers = {}, path = "" }: TransformExample,
): Promise<unknown> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const context: TransformContext<never> = {
    payload: deepFreeze(structuredClone(payload)) as never, // already matched against the schema
    headers: Object.freeze(Object.fromEntries(lower)),
    url: new URL(`http://localhost/${path}`),
    path,
    signal: new AbortController().signal,
  };
  try {
    return await transform(context);
  } catch (error) {
    const text = messageOf(error);
    const changed = /read only|not extensible|Cannot delete/.test(text)
      ? "; it must not change its payload, which other mappings also receive"
      : "";
    throw new Error(`the transform throws: ${text}${changed}`, { cause: error });
  }
}

function expectAction(result: unknown): void {
  assert.ok(
    typeof result === "object" && result !== null && !Array.isArray(result),
    "the transform must return an object, null or nothing",
  );
  assert.deepEqual(JSON.parse(JSON.stringify(result)), plain(result), "the transform must return plain JSON");
  const { kind } = result as { kind?: unknown };
  const fits = (action: keyof typeof ACTIONS) =>
    matches(ACTIONS[action], result) ? "" : describeViolations(ACTIONS[action], result);
  if (kind === "wake" || kind === "agent") return assert.equal(fits(kind), "", `the result is not a ${kind} action`);
  if (kind === undefined)
    return assert.ok(fits("wake") === "" || fits("agent") === "", "add kind: the result matches no action");
  assert.equal(typeof kind, "string", "kind must be the name of an action");
}

function nameOf({ name, payload }: TransformExample): string {
  return name ?? JSON.stringify(payload);
}

/** Without keys whose value is `undefined`, as in JSON. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** The contract of a webhook transform: its examples hold, bad payloads are refused, and it changes nothing it was given. */
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

/** What is tried. */
export interface TransformContractOptions {
  /** The default export of the file. */
  readonly transform: Transform<never, unknown> | TransformModule;
  /** Beside those the module brings. There must be one that becomes an action. */
  readonly examples?: readonly TransformExample[];
  /** Payloads its schema must refuse, beside those that are made from the schema. */
  readonly invalid?: readonly unknown[];
  /** Milliseconds for each call. Default 5000, as in a mapping that says nothing. */
  readonly timeoutMs?: number;
}

const WakeMode = Type.Enum(["now", "next-heartbeat"]);
const Text = Type.Optional(Type.String());
const Flag = Type.Optional(Type.Boolean());

/** Fields of the actions that a gateway always has; actions of plugins check their own. */
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

/** Registers subtests: the examples, payloads that do not fit, results, and that inputs stay as they are. */
export async function transformContract(t: ContractContext, options: TransformContractOptions): Promise<void> {
  const { transform: given, invalid = [], timeoutMs = 5_000 } = options;
  const leaks = startLeakCheck();
  const module = moduleOf(given);
  const examples = [...(module.examples ?? []), ...(options.examples ?? [])];
  const run = (example: TransformExample) =>
    inTime(call(module.transform, example), timeoutMs, `${nameOf(example)} is too slow`);

  await t.test("has examples, one of which becomes an action", async () => {
    const advice =
      "write an example in the file: { name, payload, expect }; they are tried before a new version goes live";
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
        assert.fail(`its payload does not fit the schema: ${describeViolations(payload, example.payload)}`);
      const result = await run(example);
      assert.deepEqual(plain(result), plain(example.expect), `example "${name}"`);
      if (result !== null && result !== undefined) expectAction(result);
    });
  }

  await t.test("refuses payloads that do not fit its schema", async () => {
    const { payload } = module;
    if (!payload) return assert.deepEqual(invalid, [], "a transform without a payload schema refuses nothing");
    const bad = [...misfitsOf(payload, examples[0]?.payload).map(({ value }) => value), ...invalid];
    for (const value of bad) assert.ok(!matches(payload, value), `its schema lets ${JSON.stringify(value)} through`);
    assert.ok(bad.length > 0, "its payload schema refuses nothing: say what the transform reads");
  });

  await t.test("says the same of the same payload, twice", async () => {
    for (const example of examples)
      assert.deepEqual(plain(await run(example)), plain(await run(example)), nameOf(example));
  });

  await t.test("leaves nothing open", () => leaks.expectNone());
}

function moduleOf(given: TransformContractOptions["transform"]): TransformModule {
  if (typeof given === "function") return { transform: given as Transform };
  const advice = "the default export must be a function, or what defineTransform({ ... }) returns";
  assert.ok(typeof given === "object" && TRANSFORM in given, advice);
  return given;
}

/** With a payload that cannot be changed, as other mappings may get the same one. */
async function call(
  transform: Transform<never, unknown>,
  { payload, headers = {}, path = "" }: TransformExample,
): Promise<unknown> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const context: TransformContext<never> = {
    payload: deepFreeze(structuredClone(payload)) as never, // fits the schema by now
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
      ? "; it must not change its payload, which others get as well"
      : "";
    throw new Error(`it throws: ${text}${changed}`, { cause: error });
  }
}

function expectAction(result: unknown): void {
  assert.ok(
    typeof result === "object" && result !== null && !Array.isArray(result),
    "it must return an object, null or nothing",
  );
  assert.deepEqual(JSON.parse(JSON.stringify(result)), plain(result), "it must return plain JSON");
  const { kind } = result as { kind?: unknown };
  const fits = (action: keyof typeof ACTIONS) =>
    matches(ACTIONS[action], result) ? "" : describeViolations(ACTIONS[action], result);
  if (kind === "wake" || kind === "agent") return assert.equal(fits(kind), "", `what it returns is no ${kind} action`);
  if (kind === undefined)
    return assert.ok(fits("wake") === "" || fits("agent") === "", "add kind: what it returns fits no action");
  assert.equal(typeof kind, "string", "kind must be the name of an action");
}

function nameOf({ name, payload }: TransformExample): string {
  return name ?? JSON.stringify(payload);
}

/** Without keys whose value is `undefined`, as JSON has it. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Runs the examples of a transform. */
import { describeViolations } from "@svc/sdk";
import type { TransformExample } from "@svc/sdk/transform";
import { jsonCopy, type TransformCall } from "@svc/sdk/webhooks";
import { invoke, type Timing } from "./invoke.ts";
import { differenceAt } from "./difference.ts";
import type { LoadedTransform } from "./pick.ts";
import { cutText, describeThrown, moduleProblem } from "./problem.ts";

const MAX_SHOWN = 300;

export interface ExampleRun {
  readonly module: string;
  /** Absolute. */
  readonly directory: string;
  /** Default for examples without a path. */
  readonly path: string;
  /** Milliseconds for each. */
  readonly timeoutMs: number;
}

/** @throws ModuleProblem naming the example that fails, the expected and the actual result */
export async function tryExample(
  loaded: LoadedTransform,
  index: number,
  run: ExampleRun,
  clock: Timing,
): Promise<void> {
  const example = loaded.examples[index];
  if (example === undefined) return;
  const failed = (why: string) => moduleProblem(run.module, `example ${named(example, index)} fails: ${why}`);
  const { expected, outcome } = await attempt(loaded, example, run, clock).catch((error: unknown) => {
    throw failed(describeThrown(error, run.directory));
  });
  if (outcome.kind === "invalid-payload") {
    const why = loaded.payload ? describeViolations(loaded.payload, example.payload) : "";
    throw failed(`its payload does not match the schema: ${cutText(why)}`);
  }
  const place = differenceAt(expected, outcome.value);
  if (place === undefined) return;
  const where = place === "" ? "" : `; the first difference is at ${place}`;
  throw failed(`expected ${shown(expected)}, got ${shown(outcome.value)}${where}`);
}

async function attempt(loaded: LoadedTransform, example: TransformExample, run: ExampleRun, clock: Timing) {
  // An untyped file may expect `undefined`, which means: use the fields of the mapping.
  const expected = example.expect === undefined ? undefined : jsonCopy(example.expect, "its expect value");
  return { expected, outcome: await invoke(loaded, callOf(example, run.path), run.timeoutMs, clock) };
}

function named({ name }: TransformExample, index: number): string {
  return typeof name === "string" ? `${index + 1} "${cutText(name, 100)}"` : String(index + 1);
}

function callOf(example: TransformExample, defaultPath: string): TransformCall {
  const { payload, path = defaultPath } = example;
  const headers = Object.entries(example.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
  const url = new URL(`http://localhost/${path}`).href;
  return { payload: jsonCopy(payload, "its payload"), headers: Object.fromEntries(headers), path, url };
}

function shown(value: unknown): string {
  return value === undefined ? "undefined (the fields of the mapping)" : cutText(JSON.stringify(value), MAX_SHOWN);
}

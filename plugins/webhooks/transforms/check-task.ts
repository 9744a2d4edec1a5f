/** Code of a checking thread: compiles, evaluates and tests new transforms, so that the gateway's thread does not. */
import type { MessagePort } from "node:worker_threads";
import { createCompiler } from "./compile.ts";
import { tryExample } from "./examples.ts";
import type { Timing } from "./invoke.ts";
import { createLoader } from "./load.ts";
import type { Candidate, CheckReport, CheckTask } from "./messages.ts";
import { pickTransform } from "./pick.ts";
import { describeThrown, ModuleProblem } from "./problem.ts";

/** Milliseconds for the compiler. No code of a transform can delay it; the limit is generous, for a machine under load. */
const COMPILE_MS = 60_000;
/** Milliseconds after a deadline until the thread counts as hanging. */
const GRACE_MS = 500;

export async function check(task: CheckTask, port: MessagePort, clock: Timing): Promise<void> {
  const { copy, importMs } = task;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
  const report = (message: CheckReport) => port.postMessage(message);
  const step = (doing: string, limitMs: number) => report({ kind: "step", doing, limitMs });

  const compile = await createCompiler(copy);

  async function tried(candidate: Candidate): Promise<CheckReport> {
    const { key, module, timeoutMs, path } = candidate;
    step("be compiled", COMPILE_MS);
    await compile(module);
    const load = await createLoader(copy); // evaluates everything again
    step("be loaded", importMs);
    const loaded = pickTransform(await load(module), candidate.export, module);
    const run = { module, directory: copy.place, path, timeoutMs };
    for (const index of loaded.examples.keys()) {
      step(`answer example ${index + 1}`, timeoutMs + GRACE_MS);
      await tryExample(loaded, index, run, clock);
    }
    return { kind: "passed", key, examples: loaded.examples.length };
  }

  for (const candidate of task.candidates) {
    const failed = (problem: string): CheckReport => ({ kind: "failed", key: candidate.key, problem });
    report(await tried(candidate).catch((error: unknown) => failed(problemOf(error, candidate, copy.place))));
  }
}

function problemOf(error: unknown, { module }: Candidate, directory: string): string {
  if (error instanceof ModuleProblem) return error.message;
  return `${module}: fails to load: ${describeThrown(error, directory)}`;
}

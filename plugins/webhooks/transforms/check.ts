/** Has transforms compiled and tried in a thread, and outlives whatever they do there. */
import type { Clock } from "@svc/sdk";
import type { Candidate, CheckReport, CheckTask } from "./messages.ts";
import { cutText } from "./problem.ts";
import type { StartThread } from "./thread.ts";

export interface CheckOptions extends Omit<CheckTask, "kind"> {
  readonly clock: Clock;
  readonly startThread: StartThread;
  /** Ends the thread; what is not told by then never is. */
  readonly signal: AbortSignal;
  /** Called for each candidate, in order. The next one is not waited for. */
  passed(candidate: Candidate, examples: number): void;
  failed(candidate: Candidate, problem: string): void;
}

/** Milliseconds for a thread to start and load the compiler, on a machine under load. */
const START_MS = 60_000;

/** Resolves when every candidate was told of. One that ends the thread fails; the others get another thread. */
export async function checkTransforms(options: CheckOptions): Promise<void> {
  let left = options.candidates;
  while (left.length > 0 && !options.signal.aborted) {
    const { told, died } = await oneThread(options, left);
    if (options.signal.aborted) return;
    const culprit = left[told];
    if (culprit && died !== undefined) options.failed(culprit, `${culprit.module}: ${died}`);
    left = left.slice(told + 1);
  }
}

/** Runs until all were told of, or until the thread is no more. @returns how many were told of, and why not all */
function oneThread(
  { copy, importMs, clock, startThread, signal, passed, failed }: CheckOptions,
  candidates: readonly Candidate[],
): Promise<{ told: number; died: string | undefined }> {
  const thread = startThread({ kind: "check", copy, candidates, importMs });
  let [told, died]: [number, string | undefined] = [0, undefined];
  let cancel = () => {};
  const expect = (doing: string, ms: number) => {
    cancel();
    cancel = clock.setTimeout(() => {
      died = `it took more than ${ms} ms to ${doing}`;
      void thread.end();
    }, ms);
  };
  const abort = () => void thread.end();
  signal.addEventListener("abort", abort, { once: true });
  expect("start", START_MS);

  thread.onMessage((message) => {
    const report = message as CheckReport; // or something that a transform sent on its own, which is not looked at
    const candidate = candidates[told];
    if (report?.kind === "step") return expect(report.doing, report.limitMs);
    if (!candidate || (report?.kind !== "passed" && report?.kind !== "failed") || report.key !== candidate.key) return;
    told += 1;
    if (told < candidates.length) expect("be compiled", START_MS);
    else void thread.end();
    if (report.kind === "passed") passed(candidate, report.examples);
    else failed(candidate, cutText(report.problem, 2_000));
  });
  return new Promise((resolve) =>
    thread.onEnd((reason) => {
      cancel();
      signal.removeEventListener("abort", abort);
      resolve({ told, died: told === candidates.length ? undefined : (died ?? reason) });
    }),
  );
}

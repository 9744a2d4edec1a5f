/** Compiles and tests transforms in a worker thread, and survives whatever they do there. */
import type { Clock } from "@svc/sdk";
import type { Candidate, CheckReport, CheckTask } from "./messages.ts";
import { cutText } from "./problem.ts";
import type { StartThread } from "./thread.ts";

export interface CheckOptions extends Omit<CheckTask, "kind"> {
  readonly clock: Clock;
  readonly startThread: StartThread;
  /** Ends the thread; candidates not reported by then are never reported. */
  readonly signal: AbortSignal;
  /** Called for each candidate, in order. The check does not wait for it before the next candidate. */
  passed(candidate: Candidate, examples: number): void;
  failed(candidate: Candidate, problem: string): void;
}

/** Milliseconds for a thread to start and load the compiler, on a machine under load. */
const START_MS = 60_000;

/** Resolves when every candidate was reported. A candidate that ends the thread fails; the others get another thread. */
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

/** Runs until all candidates were reported or the thread ended. @returns number of reported candidates, and why the others were not */
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
    const report = message as CheckReport; // or a message of a transform itself, which is ignored
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

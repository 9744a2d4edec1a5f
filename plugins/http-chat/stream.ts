/** Streams the steps of a run. Spec: http/chat-completions.md §6 and §9. */
import { type AnswerStep, holdSilence } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import { errorFrames, type Frames } from "./frames.ts";
import { answerOf, failureOfRun, STOPPING } from "./outcome.ts";

export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache",
  Connection: "keep-alive",
} as const;

/** @param steps returned when the stream is returned, which stops the run */
export async function* streamAnswer(
  steps: AsyncGenerator<AnswerStep, void, undefined>,
  frames: Frames,
): AsyncGenerator<string, void, undefined> {
  let next = steps.next(); // `return()` has no effect inside a generator that was never started
  try {
    const spoken = holdSilence();
    let hasSpoken = false;
    yield frames.role;
    for (;;) {
      const { value: step } = await next;
      if (!step) {
        yield errorFrames(STOPPING.error);
        return;
      }
      if (step.type === "end") {
        yield ending(step.outcome, hasSpoken, frames);
        return;
      }
      next = steps.next();
      const text = spoken(step.delta);
      hasSpoken ||= text !== "";
      if (text !== "") yield frames.text(text);
    }
  } finally {
    void steps.return();
  }
}

function ending(outcome: RunOutcome, hasSpoken: boolean, frames: Frames): string {
  const failure = failureOfRun(outcome);
  if (failure) return errorFrames(failure.error);
  const answer = answerOf(outcome);
  // Some text does not arrive as deltas, e.g. text of the gateway itself.
  const whole = hasSpoken || answer.text === "" ? "" : frames.text(answer.text);
  return whole + frames.end(answer);
}

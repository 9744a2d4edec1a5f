/** The steps of a run as the text of a stream. Spec: http/chat-completions.md §6 and §9. */
import { type AnswerStep, holdSilence } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import { errorFrames, type Frames } from "./frames.ts";
import { answerOf, failureOfRun, STOPPING } from "./outcome.ts";

export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache",
  Connection: "keep-alive",
} as const;

/** @param steps returned from when the stream is, which stops the run */
export async function* streamAnswer(
  steps: AsyncGenerator<AnswerStep, void, undefined>,
  frames: Frames,
): AsyncGenerator<string, void, undefined> {
  let next = steps.next(); // a generator that was never asked would not notice that it is returned from
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
  // Not everything is said piece by piece, e.g. what the gateway says itself.
  const whole = hasSpoken || answer.text === "" ? "" : frames.text(answer.text);
  return whole + frames.end(answer);
}

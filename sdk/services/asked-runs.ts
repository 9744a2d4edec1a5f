/** Runs that a program asks for and waits for: accepted, followed piece by piece, stopped when it goes away. */
import { GatewayError, unavailable } from "../errors.ts";
import type { AgentRuns, RunEvent, RunOutcome, RunRequest } from "./agents.ts";
import type { Sessions } from "./sessions.ts";

/** One step of an answer; `end` is the last one and comes exactly once. */
export type AnswerStep =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "end"; readonly outcome: RunOutcome };

/** What it takes. */
export interface AskedRunsSources {
  readonly runs: AgentRuns;
  readonly sessions: Pick<Sessions, "get" | "sendPolicy" | "freshen">;
}

/** Runs whose caller waits. */
export interface AskedRuns {
  /** Takes the steps of all runs: `gateway.hooks.runEvent.tap(id, asked.take)`. */
  take(event: RunEvent): void;
  /**
   * Starts a run, after its session was restarted where its reset policy says so. Resolves when it is accepted.
   * @param signal aborts when the caller is gone: the run is stopped, and the steps end with what stopped it
   * @param options.goesOn the session is not restarted, whatever its reset policy says. Default false
   * @returns its steps; to be read to the end or returned from, which stops the run, too
   * @throws GatewayError `FORBIDDEN` for a session that takes no messages; what `AgentRuns.start` throws; `CONFLICT` for an id that was used
   */
  ask(
    request: RunRequest,
    signal: AbortSignal,
    options?: { readonly goesOn?: boolean },
  ): Promise<AsyncGenerator<AnswerStep, void, undefined>>;
}

/** @param sources asked at each use */
export function createAskedRuns({ runs, sessions }: AskedRunsSources): AskedRuns {
  const listeners = new Map<string, (event: RunEvent) => void>();

  async function prepare({ sessionKey }: RunRequest, goesOn: boolean): Promise<void> {
    if (runs.active(sessionKey).length > 0) return;
    const entry = await sessions.get(sessionKey);
    if (sessions.sendPolicy(sessionKey, entry) === "deny")
      throw new GatewayError("FORBIDDEN", `session ${sessionKey} takes no messages: its send policy is "deny"`);
    if (entry && !goesOn) await sessions.freshen(sessionKey);
  }

  return {
    take: (event) => listeners.get(event.runId)?.(event),

    async ask(request, signal, { goesOn = false } = {}) {
      const { runId } = request;
      await prepare(request, goesOn);
      signal.throwIfAborted();
      const queue = createStepQueue();
      listeners.set(runId, (event) => queue.push(event));
      try {
        const { fresh } = await runs.start(request);
        if (!fresh) throw new GatewayError("CONFLICT", `there was a run ${runId} already`);
      } catch (error) {
        listeners.delete(runId);
        throw error;
      }
      const stop = () => void runs.abort(runId, "disconnect");
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      return read(queue, () => {
        listeners.delete(runId);
        signal.removeEventListener("abort", stop);
        if (!queue.isOver) stop();
      });
    },
  };
}

async function* read(queue: StepQueue, close: () => void): AsyncGenerator<AnswerStep, void, undefined> {
  try {
    for (;;) {
      const step = await queue.next();
      yield step;
      if (step.type === "end") return;
    }
  } finally {
    close();
  }
}

interface StepQueue {
  push(event: RunEvent): void;
  next(): Promise<AnswerStep>;
  /** The run has ended. */
  readonly isOver: boolean;
}

function createStepQueue(): StepQueue {
  const held: AnswerStep[] = [];
  let wake: ((step: AnswerStep) => void) | undefined;
  let isOver = false;
  /** Characters of the answer that were told. */
  let told = 0;
  const add = (step: AnswerStep) => {
    const waiting = wake;
    wake = undefined;
    if (waiting) waiting(step);
    else held.push(step);
  };
  return {
    get isOver() {
      return isOver;
    },
    push({ stream, data, outcome }) {
      const { delta, text } = data as { readonly delta?: unknown; readonly text?: unknown };
      if (stream === "assistant" && typeof delta === "string" && delta !== "") {
        const whole = typeof text === "string" ? text : "";
        // What was said before tools and after them is parted by a blank line, which is no delta.
        add({ type: "text", delta: whole.length > told + delta.length ? whole.slice(told) : delta });
        told = Math.max(whole.length, told + delta.length);
      }
      if (!outcome) return;
      isOver = true;
      add({ type: "end", outcome });
    },
    next() {
      const step = held.shift();
      return step ? Promise.resolve(step) : new Promise((resolve) => (wake = resolve));
    },
  };
}

/** The outcome of steps nobody wants to see one by one. @throws GatewayError `UNAVAILABLE` when the gateway stops first */
export async function outcomeOf(steps: AsyncIterable<AnswerStep>): Promise<RunOutcome> {
  for await (const step of steps) if (step.type === "end") return step.outcome;
  return unavailable("the gateway stopped before the run ended; try again", { retryAfterMs: 2_000 });
}

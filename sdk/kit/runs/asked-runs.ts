/** Runs that a program requests and waits for: accepted, streamed, and stopped when the caller disconnects. */
import { GatewayError, unavailable } from "@svc/sdk";
import type { AgentRuns, RunEvent, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";

/** One step of an answer; `end` comes last and exactly once. */
export type AnswerStep =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "end"; readonly outcome: RunOutcome };

/** Dependencies. */
export interface AskedRunsSources {
  readonly runs: AgentRuns;
  readonly sessions: Pick<Sessions, "get" | "sendPolicy" | "freshen">;
}

/** Runs whose caller waits. */
export interface AskedRuns {
  /** Receives the steps of all runs: `gateway.hooks.runEvent.tap(asked.take, { onlyAwake: true })`. */
  take(event: RunEvent): void;
  /**
   * Starts a run; first resets its session if the reset policy requires it. Resolves when the run is accepted.
   * @param signal aborts when the caller disconnects: the run is stopped, and the steps end with that outcome
   * @param options.session `fresh`: an unused session. `goesOn`: never reset. Default: the reset policy decides
   * @returns the steps; read them to the end, or return from them, which stops the run. They end without `end` if
   * `stop` is called first
   * @throws GatewayError `FORBIDDEN` for a session that accepts no messages; errors of `AgentRuns.start`; `CONFLICT`
   * for an id that was already used
   */
  ask(
    request: RunRequest,
    signal: AbortSignal,
    options?: { readonly session?: "fresh" | "goesOn" },
  ): Promise<AsyncGenerator<AnswerStep, void, undefined>>;
  /** Stops all runs in progress, because their events no longer arrive: `gateway.onStop(asked.stop)`. */
  stop(): void;
}

/** A run that is being followed. */
interface Followed {
  take(event: RunEvent): void;
  /** Stops the run and ends its steps. */
  stop(): void;
}

/** @param sources read at each use */
export function createAskedRuns({ runs, sessions }: AskedRunsSources): AskedRuns {
  const followed = new Map<string, Followed>();

  async function prepare({ sessionKey }: RunRequest, session: "fresh" | "goesOn" | undefined): Promise<void> {
    const entry = session === "fresh" ? undefined : await sessions.get(sessionKey);
    if (sessions.sendPolicy(sessionKey, entry) === "deny")
      throw new GatewayError("FORBIDDEN", `session ${sessionKey} accepts no messages: its send policy is "deny"`);
    const isIdle = runs.active(sessionKey).length === 0;
    if (entry && isIdle && session !== "goesOn") await sessions.freshen(sessionKey);
  }

  /** Follows a run from now until its end. */
  function follow(runId: string, queue: StepQueue, signal: AbortSignal): () => void {
    const abort = () => void runs.abort(runId, "disconnect");
    const release = () => {
      followed.delete(runId);
      signal.removeEventListener("abort", abort);
    };
    followed.set(runId, {
      take(event) {
        queue.push(event);
        if (event.outcome) release();
      },
      stop() {
        abort();
        queue.close();
      },
    });
    signal.addEventListener("abort", abort, { once: true });
    return release;
  }

  return {
    take: (event) => followed.get(event.runId)?.take(event),
    stop() {
      for (const run of followed.values()) run.stop();
    },

    async ask(request, signal, { session } = {}) {
      const { runId } = request;
      await prepare(request, session);
      signal.throwIfAborted();
      const queue = createStepQueue();
      const release = follow(runId, queue, signal);
      try {
        const { fresh } = await runs.start(request);
        if (!fresh) throw new GatewayError("CONFLICT", `run ${runId} already exists`);
      } catch (error) {
        release();
        throw error;
      }
      if (signal.aborted) runs.abort(runId, "disconnect"); // aborted before the listener was added
      return read(queue, () => {
        release();
        if (!queue.isOver) runs.abort(runId, "disconnect");
      });
    },
  };
}

async function* read(queue: StepQueue, close: () => void): AsyncGenerator<AnswerStep, void, undefined> {
  try {
    for (;;) {
      const step = await queue.next();
      if (!step) return;
      yield step;
      if (step.type === "end") return;
    }
  } finally {
    close();
  }
}

interface StepQueue {
  push(event: RunEvent): void;
  /** `undefined`: no more steps. */
  next(): Promise<AnswerStep | undefined>;
  /** Ends the steps. */
  close(): void;
  /** The run has ended. */
  readonly isOver: boolean;
}

function createStepQueue(): StepQueue {
  const held: (AnswerStep | undefined)[] = [];
  let wake: ((step: AnswerStep | undefined) => void) | undefined;
  let isOver = false;
  /** Characters of the answer that were already passed on. */
  let told = 0;
  const add = (step: AnswerStep | undefined) => {
    const waiting = wake;
    wake = undefined;
    if (waiting) waiting(step);
    else held.push(step);
  };
  /**
   * A delta lacks the separator after tool calls, but the full text has it. Compares lengths only, because reading the
   * text would copy it.
   */
  const added = (delta: string, text: unknown): string => {
    if (typeof text !== "string") return delta;
    const isParted = text.length > told + delta.length;
    const more = isParted ? text.slice(told) : delta;
    told = text.length;
    return more;
  };
  return {
    get isOver() {
      return isOver;
    },
    push({ stream, data, outcome }) {
      const { delta, text } = data as { readonly delta?: unknown; readonly text?: unknown };
      if (stream === "assistant" && typeof delta === "string" && delta !== "")
        add({ type: "text", delta: added(delta, text) });
      if (!outcome) return;
      isOver = true;
      add({ type: "end", outcome });
    },
    next: () => (held.length > 0 ? Promise.resolve(held.shift()) : new Promise((resolve) => (wake = resolve))),
    close: () => add(undefined),
  };
}

/**
 * The outcome of the steps, ignoring the individual ones.
 * @throws GatewayError `UNAVAILABLE` if the gateway stops first
 */
export async function outcomeOf(steps: AsyncIterable<AnswerStep>): Promise<RunOutcome> {
  for await (const step of steps) if (step.type === "end") return step.outcome;
  return unavailable("the gateway stopped before the run ended; try again", { retryAfterMs: 2_000 });
}

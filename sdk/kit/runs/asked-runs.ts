/** Runs that a program asks for and waits for: accepted, followed piece by piece, stopped when it goes away. */
import { GatewayError, unavailable } from "@svc/sdk";
import type { AgentRuns, RunEvent, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";

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
  /** Takes the steps of all runs: `gateway.hooks.runEvent.tap(asked.take, { onlyAwake: true })`. */
  take(event: RunEvent): void;
  /**
   * Starts a run, after its session was restarted where its reset policy says so. Resolves when it is accepted.
   * @param signal aborts when the caller is gone: the run is stopped, and the steps end with what stopped it
   * @param options.session `fresh`: nobody has used it. `goesOn`: it is not restarted, whatever its reset policy says. Default: that decides
   * @returns its steps; to be read to the end or returned from, which stops the run, too. They end without `end` where `stop` comes first
   * @throws GatewayError `FORBIDDEN` for a session that takes no messages; what `AgentRuns.start` throws; `CONFLICT` for an id that was used
   */
  ask(
    request: RunRequest,
    signal: AbortSignal,
    options?: { readonly session?: "fresh" | "goesOn" },
  ): Promise<AsyncGenerator<AnswerStep, void, undefined>>;
  /** Stops the runs in flight, since nobody hears their events any more: `gateway.onStop(asked.stop)`. */
  stop(): void;
}

/** A run somebody follows. */
interface Followed {
  take(event: RunEvent): void;
  /** Stops the run and ends its steps. */
  stop(): void;
}

/** @param sources asked at each use */
export function createAskedRuns({ runs, sessions }: AskedRunsSources): AskedRuns {
  const followed = new Map<string, Followed>();

  async function prepare({ sessionKey }: RunRequest, session: "fresh" | "goesOn" | undefined): Promise<void> {
    const entry = session === "fresh" ? undefined : await sessions.get(sessionKey);
    if (sessions.sendPolicy(sessionKey, entry) === "deny")
      throw new GatewayError("FORBIDDEN", `session ${sessionKey} takes no messages: its send policy is "deny"`);
    const isIdle = runs.active(sessionKey).length === 0;
    if (entry && isIdle && session !== "goesOn") await sessions.freshen(sessionKey);
  }

  /** Follows a run from now on, until its end. */
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
        if (!fresh) throw new GatewayError("CONFLICT", `there was a run ${runId} already`);
      } catch (error) {
        release();
        throw error;
      }
      if (signal.aborted) runs.abort(runId, "disconnect"); // it was too early for the listener
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
  /** `undefined`: there are no more. */
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
  /** Characters of the answer that were told. */
  let told = 0;
  const add = (step: AnswerStep | undefined) => {
    const waiting = wake;
    wake = undefined;
    if (waiting) waiting(step);
    else held.push(step);
  };
  /** A delta lacks what parts it from what was said before tools; the whole text has it. By length: reading the text would copy it. */
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

/** The outcome of steps nobody wants to see one by one. @throws GatewayError `UNAVAILABLE` when the gateway stops first */
export async function outcomeOf(steps: AsyncIterable<AnswerStep>): Promise<RunOutcome> {
  for await (const step of steps) if (step.type === "end") return step.outcome;
  return unavailable("the gateway stopped before the run ended; try again", { retryAfterMs: 2_000 });
}

/** All programs of this plugin that run: so many and no more, and none that outlives it. */
import { type ProgramStart, type RunningProgram, startProgram } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { unavailable } from "@svc/sdk";

/** Choice: programs that run at a time, of all agents. */
const MAX_RUNNING = 64;
const STOP_REASON = "the gateway stops, or reloads its plugin workspace";

export class Programs {
  readonly #running = new Set<RunningProgram>();
  readonly #stopping = new AbortController();

  /** Aborts when the plugin stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** @param start.signal ends it, beside the end of the plugin @throws GatewayError `UNAVAILABLE`: too many run, or the plugin stops */
  start(start: Omit<ProgramStart, "signal" | "stopReason"> & { readonly signal?: AbortSignal }): RunningProgram {
    if (this.#stopping.signal.aborted) unavailable(`${STOP_REASON}; try again`, { retryAfterMs: 1_000 });
    if (this.#running.size >= MAX_RUNNING) {
      unavailable(`${MAX_RUNNING} commands run already; wait until some have ended`, { retryAfterMs: 5_000 });
    }
    const ending = new AnySignal(start.signal, this.#stopping.signal);
    const program = startProgram({
      ...start,
      signal: ending.signal,
      stopReason: start.signal ? "the run was stopped" : STOP_REASON,
      endsWhole: true,
    });
    this.#running.add(program);
    void program.ended.then(() => {
      this.#running.delete(program);
      ending.release();
    });
    return program;
  }

  /** SIGTERM to all, SIGKILL 2 s later; resolves when all have ended. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }
}

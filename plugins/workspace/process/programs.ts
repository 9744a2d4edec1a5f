/** The running programs of this plugin: limits their number, and ends them with the plugin. */
import { type ProgramStart, type RunningProgram, startProgram } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { unavailable } from "@svc/sdk";
import type { Launch } from "../sandbox/agent-sandbox.ts";

/** Choice: maximum running programs of all agents. */
const MAX_RUNNING = 64;
const STOP_REASON = "the gateway is stopping, or reloading its plugin workspace";
const BROKEN_REASON =
  "an identity file of the agent was replaced, and the sandbox protects only the previous file; start the command again";

/** A program to start; its `hold` is released at its end. */
export type CommandStart = Omit<ProgramStart, "file" | "argv" | "cwd" | "signal" | "stopReason"> &
  Launch & { readonly signal?: AbortSignal };

export class Programs {
  readonly #running = new Set<RunningProgram>();
  readonly #stopping = new AbortController();

  /** Aborts when the plugin stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * @param start.signal ends the program, as does the end of the plugin
   * @throws GatewayError `UNAVAILABLE`: too many are running, or the plugin is stopping; the caller must then release the `hold`
   */
  start({ hold, ...start }: CommandStart): RunningProgram {
    if (this.#stopping.signal.aborted) unavailable(`${STOP_REASON}; try again`, { retryAfterMs: 1_000 });
    if (this.#running.size >= MAX_RUNNING) {
      unavailable(`${MAX_RUNNING} commands are already running; wait until some have ended`, { retryAfterMs: 5_000 });
    }
    const ending = new AnySignal(start.signal, this.#stopping.signal);
    const program = startProgram({
      ...start,
      signal: ending.signal,
      stopReason: start.signal ? "the run was stopped" : STOP_REASON,
      endsWhole: true,
    });
    this.#running.add(program);
    const onBroken = () => program.end(BROKEN_REASON);
    hold?.broken.addEventListener("abort", onBroken, { once: true });
    if (hold?.broken.aborted) onBroken();
    void program.ended.then(() => {
      void hold?.release();
      this.#running.delete(program);
      ending.release();
    });
    return program;
  }

  /** Sends SIGTERM to all, and SIGKILL 2 s later. Resolves when all have ended. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }
}

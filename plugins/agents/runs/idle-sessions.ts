/** Waits for quiet sessions. Only one caller at a time gets a session, on all gateways of the state. */
import { endOfRun } from "@svc/kit/runs";
import { pause, Turns } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import type { Environment } from "./environment.ts";
import type { LiveRuns } from "./live-runs.ts";

/** Choice: milliseconds between two attempts to get the session while another gateway has it. */
const RETRY_MS = 250;

interface IdleSources {
  readonly runs: Pick<AgentRuns, "wait" | "state">;
  /** @throws GatewayError `UNAVAILABLE` when no run may start */
  readonly refuse: () => void;
}

export class IdleSessions {
  readonly #env: Pick<Environment, "store" | "clock">;
  readonly #live: LiveRuns;
  readonly #sources: IdleSources;
  readonly #turns = new Turns();

  constructor(env: Pick<Environment, "store" | "clock">, live: LiveRuns, sources: IdleSources) {
    this.#env = env;
    this.#live = live;
    this.#sources = sources;
  }

  /** Calls `work` once the session has no waiting or running run. See `AgentRuns.whenIdle`. */
  take<T>(sessionKey: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(sessionKey, async () => {
      const { owner } = this.#env.store;
      const turn = `agents/idle/${sessionKey}`;
      for (; !(await owner.take(turn)); signal.throwIfAborted()) await pause(RETRY_MS, this.#env.clock, signal);
      try {
        await this.#quiet(sessionKey, signal);
        return await work();
      } finally {
        await owner.release(turn).catch(() => undefined); // free once this gateway ends, too
      }
    });
  }

  async #quiet(sessionKey: string, signal: AbortSignal): Promise<void> {
    const { runs, refuse } = this.#sources;
    const { store, clock } = this.#env;
    for (;;) {
      const open = this.#live.ofSession(sessionKey)[0]?.id ?? (await store.openOf(sessionKey));
      if (open === undefined) return;
      refuse();
      await endOfRun(open, { runs: () => runs, clock }, signal);
    }
  }
}

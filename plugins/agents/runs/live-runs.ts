/** The runs between acceptance and end, by id and by session. */
import type { LiveRun } from "./live-run.ts";

export class LiveRuns {
  readonly #byId = new Map<string, LiveRun>();
  /** Oldest first. */
  readonly #bySession = new Map<string, Set<LiveRun>>();

  add(run: LiveRun): void {
    this.#byId.set(run.id, run);
    const { sessionKey } = run.request;
    const runs = this.#bySession.get(sessionKey) ?? new Set();
    this.#bySession.set(sessionKey, runs.add(run));
  }

  delete(run: LiveRun): void {
    if (this.#byId.get(run.id) === run) this.#byId.delete(run.id);
    const runs = this.#bySession.get(run.request.sessionKey);
    runs?.delete(run);
    if (runs?.size === 0) this.#bySession.delete(run.request.sessionKey);
  }

  get(runId: string): LiveRun | undefined {
    return this.#byId.get(runId);
  }

  /** A run has begun and has not ended; those that wait are taken up again after a restart. */
  get isWorking(): boolean {
    return [...this.#byId.values()].some(({ phase }) => phase === "running" || phase === "ending");
  }

  has(runId: string): boolean {
    return this.#byId.has(runId);
  }

  /** Oldest first. */
  ofSession(sessionKey: string): readonly LiveRun[] {
    return [...(this.#bySession.get(sessionKey) ?? [])];
  }

  childrenOf(runId: string): readonly LiveRun[] {
    return this.all().filter(({ request }) => request.parentRunId === runId);
  }

  /** A run and those it was started for, as far as they are here: itself first. */
  lineage(runId: string): readonly LiveRun[] {
    const found = new Set<LiveRun>();
    for (let run = this.get(runId); run && !found.has(run); run = this.get(run.request.parentRunId ?? ""))
      found.add(run);
    return [...found];
  }

  all(): readonly LiveRun[] {
    return [...this.#byId.values()];
  }

  clear(): void {
    this.#byId.clear();
    this.#bySession.clear();
  }
}

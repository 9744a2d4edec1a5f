/** Whoever is answerable for a piece of code that runs inside the gateway. */

export interface Owner {
  /** Plugin id, or `host`. */
  readonly id: string;
  /** Place in the deterministic plugin order; taps of one phase run in it. */
  readonly order: number;
  /** Aborts when this generation stops; nothing of it runs afterwards. */
  readonly signal: AbortSignal;
  /** True between its start and its stop; until then its methods answer UNAVAILABLE. */
  readonly ready: boolean;
  /** Runs `work` so that whatever it throws later can be traced back here. */
  run<T>(work: () => T): T;
  /** Counts and logs a failure. `where` names the place for people, e.g. `hook admit`. */
  charge(error: unknown, where: string): void;
}

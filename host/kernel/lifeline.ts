/** What the kernel lends to a plugin that lives outside of it, beside its gateway: the second argument of its `setup`. */

export interface Lifeline {
  /** Runs `work` as the plugin. */
  run<T>(work: () => T): T;
  /** Counts and logs a failure that no caller gets. */
  charge(error: unknown, where: string): void;
  /** It is gone: takes it down and tries it again later. Of a generation that is over, nobody minds. */
  died(error: Error): void;
  /** How to find out how many bytes of memory it uses now. */
  memory(read: () => number | undefined): void;
}

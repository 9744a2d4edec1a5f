/**
 * The owner of code in the gateway: the host, or one generation of a plugin. A generation lasts from one setup of the
 * plugin to its stop.
 */

/** Whether a failure counts towards quarantine. `caller`: it does not, as any caller can provoke it. */
export type Charge = "counts" | "caller";

/** Counters of an owner. */
export interface Tally {
  /** A call or request begins; `left` when it has ended. */
  entered(): void;
  left(): void;
  /** A request has ended. @param ms milliseconds spent in the owner's code */
  answered(ms: number): void;
  /** Counter of the calls of one method. */
  method(name: string): MethodTally;
  /** A tap was called. */
  hookRan(): void;
  /** A tap failed or missed its deadline. */
  hookFailed(): void;
}

/** Outcome of a call: a result, a `GatewayError`, or any other error. */
export type Outcome = "ok" | "refused" | "failed";

/** Counts the calls of one method. */
export interface MethodTally {
  /** @param ms milliseconds spent in the owner's code */
  answered(ms: number, outcome: Outcome): void;
}

export interface Owner {
  /** Plugin id, or `host`. */
  readonly id: string;
  /** Position in the plugin order; taps of one phase run in this order. */
  readonly order: number;
  /** Aborts when this generation stops; none of its handlers is called afterwards. */
  readonly signal: AbortSignal;
  /** True between its start and its stop; otherwise its methods return UNAVAILABLE. */
  readonly ready: boolean;
  /** Set while the plugin is being replaced or asleep: new calls wait on it; waiting wakes a sleeping plugin. */
  readonly hold: Hold | undefined;
  /**
   * Wakes the plugin if it is asleep. @returns a promise that resolves when the replacement or the waking has ended;
   * `undefined`: nothing to wait for
   */
  back(): Promise<void> | undefined;
  readonly tally: Tally;
  /** A call or request of this generation begins; `leave` when it has ended. */
  enter(): void;
  leave(): void;
  /** Runs `work` in the owner's async context, so that later stray errors are attributed to it. */
  run<T>(work: () => T): T;
  /** Records and logs a failure. @param where what failed, for people, e.g. `hook admit`. @param charge default `counts` */
  charge(error: unknown, where: string, charge?: Charge): void;
}

const nothing = () => undefined;

/** Owner of the host's own declarations. */
export const hostOwner: Owner = {
  id: "host",
  order: -1,
  signal: new AbortController().signal,
  ready: true,
  hold: undefined,
  back: nothing,
  tally: {
    entered: nothing,
    left: nothing,
    answered: nothing,
    method: () => ({ answered: nothing }),
    hookRan: nothing,
    hookFailed: nothing,
  },
  enter: nothing,
  leave: nothing,
  run: (work) => work(),
  charge: nothing,
};

/** Holds calls to a plugin that is being replaced or woken. */
export interface Hold {
  /** Whether the current caller must not wait: the replacement or waking itself depends on its work. */
  passes(): boolean;
  /** Resolves when the call can be looked up again. @throws GatewayError `UNAVAILABLE` after a time limit */
  wait(): Promise<void>;
}

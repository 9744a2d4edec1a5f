/** Whoever is answerable for a piece of code that runs inside the gateway. */

/** What a failure was charged for. Failures that any caller can provoke do not count towards quarantine. */
export type Charge = "counts" | "caller";

/** Counts what the code of an owner does. */
export interface Tally {
  /** A call or request begins; `left` when it has ended. */
  entered(): void;
  left(): void;
  /** A request was answered. @param ms milliseconds in the owner's hands */
  answered(ms: number): void;
  /** Where the calls of one method are counted. */
  method(name: string): MethodTally;
  /** A tap was called. */
  hookRan(): void;
  /** It failed, or gave no answer in time. */
  hookFailed(): void;
}

/** What became of a call: an answer, a refusal with a `GatewayError`, or something else that was thrown. */
export type Outcome = "ok" | "refused" | "failed";

/** Counts the calls of one method. */
export interface MethodTally {
  /** @param ms milliseconds in the owner's hands */
  answered(ms: number, outcome: Outcome): void;
}

export interface Owner {
  /** Plugin id, or `host`. */
  readonly id: string;
  /** Place in the deterministic plugin order; taps of one phase run in it. */
  readonly order: number;
  /** Aborts when this generation stops; nothing of it runs afterwards. */
  readonly signal: AbortSignal;
  /** True between its start and its stop; until then its methods answer UNAVAILABLE. */
  readonly ready: boolean;
  /** Set while the plugin is being replaced or asleep: what is new waits for it, and waiting wakes a sleeping plugin. */
  readonly hold: Hold | undefined;
  /** Resolves when the plugin is back, which is woken when it is asleep; `undefined`: it runs. Its taps cannot answer before. */
  back(): Promise<void> | undefined;
  readonly tally: Tally;
  /** A call or request of this generation begins; `leave` when it has ended. */
  enter(): void;
  leave(): void;
  /** Runs `work` so that whatever it throws later can be traced back here. */
  run<T>(work: () => T): T;
  /** Counts and logs a failure. `where` names the place for people, e.g. `hook admit`. Default: it counts. */
  charge(error: unknown, where: string, charge?: Charge): void;
}

const nothing = () => undefined;

/** The host itself: declarations of its own have an owner like all others. */
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

/** Calls that wait for a plugin to be replaced. */
export interface Hold {
  /** Whether this caller goes on at once: work the replacement itself waits for. */
  passes(): boolean;
  /** Resolves when the call can be looked up anew. @throws GatewayError `UNAVAILABLE` when it took too long */
  wait(): Promise<void>;
}

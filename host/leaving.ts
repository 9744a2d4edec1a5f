/** Restarts and stops of several gateways on one state: one after the other, so that there is always one for the clients. */
import type { Peers } from "@svc/sdk/gateway";

/** Topic of the gateways that stop, or that wait with a restart. */
const LEAVING = "host/leaving";
/** Choice: milliseconds for which a restart waits for another gateway that has left, and may come back. */
const COMING_BACK_MS = 15_000;
/** Choice: milliseconds between the restarts that one change of the shared configuration causes at two gateways. */
const APART_MS = 3_000;

/** What is needed of the other gateways. */
export interface Others extends Pick<Peers, "self" | "share" | "shared"> {
  /** Names of the others that are there. */
  readonly names: readonly string[];
  /** Monotonic ms at which one has left of which none has taken the place. */
  readonly leftAt: number | undefined;
}

export class Leaving {
  readonly #others: Others;
  #hasBegun = false;

  constructor(others: Others) {
    this.#others = others;
  }

  /** Number of gateways that go on when this one stops. */
  get others(): number {
    return this.#others.names.length;
  }

  /** Whether this gateway stops while others go on. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** To be called when this gateway stops. */
  begin(): void {
    this.#hasBegun = true;
    this.#others.share(LEAVING, "gateway", "stopping");
  }

  /** Whether it is the turn of this gateway to restart, to be asked until it is. */
  mayRestart(): boolean {
    const { names, self = "", leftAt } = this.#others;
    if (names.length > 0) {
      this.#others.share(LEAVING, "gateway", "waiting");
      const leaving = this.#others.shared(LEAVING);
      if (leaving.some(({ gateway, value }) => value === "stopping" || gateway < self)) return false;
    }
    return leftAt === undefined || performance.now() - leftAt > COMING_BACK_MS;
  }

  /** Milliseconds until a restart for a change that another gateway has made, which restarts first. */
  get restartDelayMs(): number {
    const { names, self = "" } = this.#others;
    return names.length === 0 ? 0 : APART_MS * (1 + names.filter((name) => name < self).length);
  }
}

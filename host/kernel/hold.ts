/** Calls that wait while a plugin is replaced, so that no caller notices. */
import { type Clock, unavailable } from "@svc/sdk";
import { within } from "../clock.ts";
import type { Hold } from "../hooks/owner.ts";
import { currentOwner } from "./current-owner.ts";

/** Milliseconds one call waits at most. Choice: longer than a usual swap, shorter than a client's patience. */
const HOLD_MS = 5_000;
const RETRY_MS = 1_000;

export class ReplacementHold implements Hold {
  /** Resolves at the release, whatever came of the replacement. */
  readonly released: Promise<void>;
  readonly begunAt: number;
  readonly #clock: Clock;
  #release!: () => void;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.begunAt = clock.elapsed();
    this.released = new Promise((resolve) => (this.#release = resolve));
  }

  /** The drain waits for what plugins of this replacement have under way, so that must not wait for the replacement. */
  passes(): boolean {
    return currentOwner()?.hold === this;
  }

  wait(): Promise<void> {
    return waitFor(this.released, this.#clock, "the plugin is being reloaded");
  }

  release(): void {
    this.#release();
  }
}

/** @throws GatewayError `UNAVAILABLE` when it takes too long */
export async function waitFor(released: Promise<void>, clock: Clock, why: string): Promise<void> {
  await within(HOLD_MS, clock, released).catch(() => unavailable(`${why}; try again`, { retryAfterMs: RETRY_MS }));
}

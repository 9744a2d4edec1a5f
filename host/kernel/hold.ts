/** Holds calls while a plugin is being replaced, so that callers see no failure. */
import { type Clock, unavailable } from "@svc/sdk";
import { within } from "../clock.ts";
import type { Hold } from "../hooks/owner.ts";
import { currentOwner } from "./current-owner.ts";

/** Longest wait of one call. ms. Choice: longer than a usual replacement, shorter than a usual client timeout. */
const HOLD_MS = 5_000;
const RETRY_MS = 1_000;

export class ReplacementHold implements Hold {
  /** Resolves at the release, whatever the outcome of the replacement. */
  readonly released: Promise<void>;
  readonly begunAt: number;
  readonly #clock: Clock;
  #release!: () => void;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.begunAt = clock.elapsed();
    this.released = new Promise((resolve) => (this.#release = resolve));
  }

  /** True for calls made by plugins of this replacement: the drain awaits their calls in flight, so these must not wait for the replacement. */
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

/** @throws GatewayError `UNAVAILABLE` after `HOLD_MS` */
export async function waitFor(released: Promise<void>, clock: Clock, why: string): Promise<void> {
  await within(HOLD_MS, clock, released).catch(() => unavailable(`${why}; try again`, { retryAfterMs: RETRY_MS }));
}

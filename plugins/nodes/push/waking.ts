/** Wakes a node that is not connected, before a command is sent to it. Spec: protocol/methods-node.md §2. */
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Logger, pause, untilAborted } from "@svc/sdk";
import type { PushOutcome } from "./apns.ts";

/** Milliseconds to wait for the node after the first and after the second message. */
const FIRST_MS = 3_000;
const SECOND_MS = 12_000;
/** Milliseconds in which a node gets no further first message. */
const THROTTLE_MS = 15_000;
/** Minimum milliseconds between two messages that the person sees. */
const NUDGE_MS = 600_000;

interface WakingSources {
  readonly pushes: {
    reaches(nodeId: string): Promise<boolean>;
    wake(nodeId: string, signal: AbortSignal): Promise<PushOutcome | undefined>;
    nudge(nodeId: string, signal: AbortSignal): Promise<PushOutcome | undefined>;
  };
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
  readonly log: Pick<Logger, "info">;
  /** Aborts when the plugin stops. */
  readonly stopped: AbortSignal;
}

export class Waking {
  readonly #sources: WakingSources;
  /** Attempts under way, by node; the controller aborts when the node connects. */
  readonly #attempts = new Map<string, { readonly done: Promise<void>; readonly arrival: AbortController }>();
  /** Elapsed ms of the last messages, by node, oldest first. */
  readonly #woken = new Map<string, number>();
  readonly #nudged = new Map<string, number>();

  constructor(sources: WakingSources) {
    this.#sources = sources;
  }

  /**
   * Resolves when the node has connected, or did not: at once without a registration, otherwise after about 15 s.
   * Concurrent calls share one attempt. @throws the reason of the signal
   */
  async wake(nodeId: string, signal: AbortSignal | undefined): Promise<void> {
    let attempt = this.#attempts.get(nodeId);
    if (!attempt) {
      const arrival = new AbortController();
      const done = this.#attempt(nodeId, arrival.signal)
        .catch((error: unknown) => {
          this.#sources.log.info({ nodeId, err: error }, "a node could not be woken");
        })
        .finally(() => this.#attempts.delete(nodeId));
      attempt = { done, arrival };
      this.#attempts.set(nodeId, attempt);
    }
    await (signal ? untilAborted(attempt.done, signal) : attempt.done);
  }

  /** Must be called when a node has connected. */
  connected(nodeId: string): void {
    this.#attempts.get(nodeId)?.arrival.abort();
  }

  async #attempt(nodeId: string, arrived: AbortSignal): Promise<void> {
    const { pushes, stopped } = this.#sources;
    if (!(await pushes.reaches(nodeId)) || arrived.aborted) return;
    const isThrottled = this.#isWithin(this.#woken, nodeId, THROTTLE_MS);
    if (!isThrottled) this.#send(this.#woken, nodeId, (signal) => pushes.wake(nodeId, signal));
    await this.#wait(FIRST_MS, arrived);
    if (arrived.aborted || stopped.aborted || !(await pushes.reaches(nodeId))) return; // the service may not know it any more
    this.#send(this.#woken, nodeId, (signal) => pushes.wake(nodeId, signal));
    await this.#wait(SECOND_MS, arrived);
    if (arrived.aborted || stopped.aborted || this.#isWithin(this.#nudged, nodeId, NUDGE_MS)) return;
    this.#send(this.#nudged, nodeId, (signal) => pushes.nudge(nodeId, signal));
  }

  /** Does not wait for the message: the node may connect before the service answers. */
  #send(times: Map<string, number>, nodeId: string, send: (signal: AbortSignal) => Promise<unknown>): void {
    const { clock, log, stopped } = this.#sources;
    const now = clock.elapsed();
    times.delete(nodeId);
    times.set(nodeId, now);
    for (const [id, at] of times) {
      if (now - at < NUDGE_MS) break;
      times.delete(id);
    }
    send(stopped).catch((error: unknown) => log.info({ nodeId, err: error }, "a push message could not be sent"));
  }

  #isWithin(times: ReadonlyMap<string, number>, nodeId: string, ms: number): boolean {
    const at = times.get(nodeId);
    return at !== undefined && this.#sources.clock.elapsed() - at < ms;
  }

  async #wait(ms: number, arrived: AbortSignal): Promise<void> {
    const ending = new AnySignal(arrived, this.#sources.stopped);
    await pause(ms, this.#sources.clock, ending.signal);
    ending.release();
  }
}

/** Sends the replies of runs through channels, if their requests ask for it. */
import { persist } from "@svc/kit/persist";
import { deliverableReply } from "@svc/kit/runs";
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Logger, messageOf, untilAborted } from "@svc/sdk";
import type { RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Delivery } from "@svc/sdk/channels";

/** Choice: milliseconds of retries on a temporarily unavailable channel before the caller gets an error. */
export const DELIVERY_MS = 60_000;
/** Choice: maximum number of failures kept for repeated requests. */
const MOST_FAILURES = 1_000;

export interface ReplyDeliverySources {
  /** The current service; `undefined`: no plugin delivers to channels. */
  readonly delivery: () => Delivery | undefined;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
}

export class ReplyDeliveries {
  readonly #sources: ReplyDeliverySources;
  /** By run: deliveries in progress, which resolve with the reason if the reply was not sent. */
  readonly #inFlight = new Map<string, Promise<string | undefined>>();
  /** By run, oldest first: why its reply was not sent. */
  readonly #failures = new Map<string, string>();

  constructor(sources: ReplyDeliverySources) {
    this.#sources = sources;
  }

  get isWorking(): boolean {
    return this.#inFlight.size > 0;
  }

  /**
   * Choice: a silent reply (`NO_REPLY`) is not sent. A temporarily unavailable channel is retried for a minute.
   * @param signal stops the attempts
   */
  begin({ runId, sessionKey, delivery }: RunRequest, { status, text }: RunOutcome, signal: AbortSignal): void {
    const reply = status === "ok" && delivery ? deliverableReply(text) : undefined;
    if (!delivery || reply === undefined) return;
    const { isBestEffort, ...to } = delivery;
    const sent = this.#send({ id: `${runId}:reply`, ...to, sessionKey, text: reply }, signal);
    const failure = sent.then((reason) => {
      this.#inFlight.delete(runId);
      if (reason !== undefined) this.#sources.log.warn({ runId, reason }, "the reply of a run could not be delivered");
      if (isBestEffort || reason === undefined) return undefined;
      this.#keep(runId, reason);
      return reason;
    });
    this.#inFlight.set(runId, failure);
  }

  /** Why the reply of this run was not sent; `undefined`: sent, best effort, or not requested. Waits for a delivery in progress. */
  async failure(runId: string): Promise<string | undefined> {
    return this.#inFlight.get(runId) ?? this.#failures.get(runId);
  }

  #keep(runId: string, reason: string): void {
    this.#failures.set(runId, reason);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_FAILURES && oldest !== undefined) this.#failures.delete(oldest);
  }

  async #send(request: Parameters<Delivery["deliver"]>[0], signal: AbortSignal): Promise<string | undefined> {
    const { delivery, clock } = this.#sources;
    let reason: string | undefined = "the channel did not respond";
    const send = async () => {
      try {
        const outcome = await delivery()?.deliver(request);
        reason = outcome?.delivered ? undefined : (outcome?.reason ?? "no plugin delivers to channels");
      } catch (error) {
        reason = messageOf(error);
        throw error;
      }
    };
    const inTime = new AnySignal(signal);
    const cancelTimer = clock.setTimeout(() => inTime.abort(), DELIVERY_MS);
    try {
      await untilAborted(persist(send, { clock, signal: inTime.signal }), inTime.signal);
      return reason;
    } catch (error) {
      const isLate = inTime.signal.aborted && !signal.aborted;
      return isLate ? `not within ${DELIVERY_MS / 1_000} s: ${reason}` : messageOf(error);
    } finally {
      cancelTimer();
      inTime.release();
    }
  }
}

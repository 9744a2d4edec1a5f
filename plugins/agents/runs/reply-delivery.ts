/** Sends the replies of runs through channels, where their requests say so. */
import { persist } from "@svc/kit/persist";
import { deliverableReply } from "@svc/kit/runs";
import { type Clock, type Logger, messageOf } from "@svc/sdk";
import type { RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Delivery } from "@svc/sdk/channels";

export interface ReplyDeliverySources {
  /** Of now; `undefined`: no plugin delivers to channels. */
  readonly delivery: () => Delivery | undefined;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
}

export class ReplyDeliveries {
  readonly #sources: ReplyDeliverySources;
  /** By run: why its reply was not sent; of deliveries under way. */
  readonly #underWay = new Map<string, Promise<string | undefined>>();

  constructor(sources: ReplyDeliverySources) {
    this.#sources = sources;
  }

  get isWorking(): boolean {
    return this.#underWay.size > 0;
  }

  /**
   * Choice: a reply that says nothing (`NO_REPLY`) is not sent. A channel that cannot be used for the moment is asked again.
   * @param signal ends the attempts
   */
  begin({ runId, sessionKey, delivery }: RunRequest, { status, text }: RunOutcome, signal: AbortSignal): void {
    const reply = status === "ok" && delivery ? deliverableReply(text) : undefined;
    if (!delivery || reply === undefined) return;
    const { isBestEffort, ...to } = delivery;
    const sent = this.#send({ id: `${runId}:reply`, ...to, sessionKey, text: reply }, signal);
    const failure = sent.then((reason) => {
      this.#underWay.delete(runId);
      if (reason !== undefined) this.#sources.log.warn({ runId, reason }, "the reply of a run could not be delivered");
      return isBestEffort ? undefined : reason;
    });
    this.#underWay.set(runId, failure);
  }

  /** Why the reply of this run was not sent; `undefined`: it was, need not be, or nobody asked for it. Waits for a delivery under way. */
  async failure(runId: string): Promise<string | undefined> {
    return this.#underWay.get(runId);
  }

  async #send(request: Parameters<Delivery["deliver"]>[0], signal: AbortSignal): Promise<string | undefined> {
    const { delivery, clock } = this.#sources;
    let reason: string | undefined;
    const send = async () => {
      const outcome = await delivery()?.deliver(request);
      reason = outcome?.delivered ? undefined : (outcome?.reason ?? "no plugin delivers to channels");
    };
    try {
      await persist(send, { clock, signal });
      return reason;
    } catch (error) {
      return messageOf(error);
    }
  }
}

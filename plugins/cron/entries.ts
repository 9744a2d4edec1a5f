/** What the record of a run says. Pure. Spec: protocol/stores.md §4. */
import type { RunOutcome } from "@svc/sdk/agents";
import type { CronDelivery, CronRunEntry } from "@svc/sdk/cron";
import type { Settled } from "./records.ts";
import type { Ended } from "./verdict.ts";

/** What became of the delivery. */
export type Delivered = Pick<Settled["entry"], "delivered" | "deliveryStatus" | "deliveryError">;

export const NOT_REQUESTED: Delivered = { deliveryStatus: "not-requested" };

/** How a job's words got to where they should. @param error why not */
export function deliveredAs(error: string | undefined): Delivered {
  if (error === undefined) return { delivered: true, deliveryStatus: "delivered" };
  return { delivered: false, deliveryStatus: "not-delivered", deliveryError: error };
}

/**
 * A run whose words were to be delivered and were not has failed, unless that was only to be tried. Choice: a job that names
 * nobody has not failed where there is nobody yet, since `announce` is what older clients leave to the gateway.
 */
export function withDelivery(ended: Ended, { deliveryError }: Delivered, delivery: CronDelivery | undefined): Ended {
  if (ended.status !== "ok" || deliveryError === undefined || !delivery || delivery.bestEffort === true) return ended;
  if (delivery.mode === "announce" && delivery.channel === undefined && delivery.to === undefined) return ended;
  return { ...ended, status: "error", error: deliveryError };
}

/** Of a run of an agent. */
export function modelFacts({ model, provider, usage }: RunOutcome): Partial<CronRunEntry> {
  return {
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            input_tokens: usage.input,
            output_tokens: usage.output,
            total_tokens: usage.totalTokens,
            cache_read_tokens: usage.cacheRead,
            cache_write_tokens: usage.cacheWrite,
          },
        }),
  };
}

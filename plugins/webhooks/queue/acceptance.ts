/** Records accepted webhooks on disk, once per idempotency key. Spec: spec/README.md "2xx on a webhook". */
import { GatewayError, isGatewayError, unavailable } from "@svc/sdk";
import type { Owner } from "@svc/sdk/storage";
import type { AcceptedWebhook, WebhookReceipt, WebhookRun } from "@svc/sdk/webhooks";
import type { RunStore } from "./run-store.ts";

/** Milliseconds for which a key is reserved. */
export const KEY_LIFETIME_MS = 24 * 3_600_000;

export interface AcceptanceOptions {
  readonly store: RunStore;
  /** Called for a webhook that is recorded, but not done. */
  queued(webhook: AcceptedWebhook, owner: Owner): void;
  /** Called when recording the run also completed it. */
  finished(run: WebhookRun): void;
}

export class Acceptance {
  readonly #options: AcceptanceOptions;
  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(options: AcceptanceOptions) {
    this.#options = options;
  }

  /**
   * Durable when it resolves.
   * @throws GatewayError `CONFLICT` a key was used for another request; `UNAVAILABLE` storage cannot record it now
   */
  async accept(webhook: AcceptedWebhook): Promise<WebhookReceipt> {
    const accepting = this.#accept(webhook);
    this.#inFlight.add(accepting);
    return accepting.finally(() => this.#inFlight.delete(accepting));
  }

  /** Resolves when every webhook in flight was recorded or refused. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
  }

  async #accept(webhook: AcceptedWebhook): Promise<WebhookReceipt> {
    const { store, queued, finished } = this.#options;
    const { runId, prepared, acceptedAt, effect } = webhook;
    let owner: Owner;
    try {
      owner = await store.accept(webhook, acceptedAt + KEY_LIFETIME_MS);
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "CONFLICT") throw error;
      return this.#repeated(webhook);
    }
    if (effect) finished(doneAtOnce(webhook));
    else queued(webhook, owner);
    return { runId, reply: prepared.reply ?? {}, repeated: false };
  }

  async #repeated({ keys, acceptedAt }: AcceptedWebhook): Promise<WebhookReceipt> {
    const { store } = this.#options;
    const taken = await store.taken(keys, acceptedAt);
    for (const [index, { digest }] of keys.entries()) {
      const other = taken[index];
      if (!other) continue;
      if (digest !== "" && other.digest !== digest)
        throw new GatewayError(
          "CONFLICT",
          "this idempotency key was used for another request within 24 h; send a new key for a new request",
        );
      const found = await store.find(other.runId);
      return { runId: other.runId, reply: found?.reply ?? {}, repeated: true };
    }
    return unavailable("the webhook could not be recorded now; send it again", { retryAfterMs: 1_000 });
  }
}

function doneAtOnce({ runId, mapping, action, acceptedAt, prepared: { sessionKey } }: AcceptedWebhook): WebhookRun {
  return {
    runId,
    status: "done",
    mapping,
    action,
    acceptedAt,
    startedAt: acceptedAt,
    endedAt: acceptedAt,
    attempts: 1,
    ...(sessionKey === undefined ? {} : { sessionKey }),
  };
}

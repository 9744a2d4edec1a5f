/** Hands an accepted webhook to the plugin that stores the records. Spec: spec/README.md "2xx on a webhook". */
import { randomUUID } from "node:crypto";
import { type Clock, type HookEmitter, HOOKS, type Logger, type Principal, unavailable } from "@svc/sdk";
import type { WebhookJob, WebhookKey, WebhookReceipt, WebhookRun, WebhookWork } from "@svc/sdk/webhooks";
import type { HookBus } from "../hooks/hook-bus.ts";
import { suspicionsOf, toJob } from "./job.ts";
import { type Prepared, charged, Held, NEXT } from "./pipeline.ts";

export interface RecordingOptions {
  readonly hooks: HookBus;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
  principalFor(mapping: string): Principal;
}

const NOBODY = "no running plugin records webhooks";

export class Recording {
  readonly #options: RecordingOptions;
  readonly #accept: HookEmitter<typeof HOOKS.webhookAccept>;
  readonly #run: HookEmitter<typeof HOOKS.webhookRun>;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#accept = options.hooks.emitter(HOOKS.webhookAccept);
    this.#run = options.hooks.emitter(HOOKS.webhookRun);
  }

  /** Why no webhook can be recorded, or `undefined`. */
  get problem(): string | undefined {
    return this.#accept.isUsed() ? undefined : `${NOBODY}, so requests get 503; ${NEXT}`;
  }

  /**
   * Resolves when the record is durable.
   * @throws GatewayError `CONFLICT` a key was used for another request; `UNAVAILABLE` the webhook cannot be stored now
   * @throws Held the plugin of the action is being replaced, possibly with the storage of its records
   * @throws MappingFailed the plugin of the action failed
   */
  async record(accepted: Prepared, keys: readonly WebhookKey[]): Promise<WebhookReceipt> {
    const { owner } = accepted.action;
    if (owner.hold && !owner.hold.passes()) throw new Held(owner.hold);
    owner.enter();
    try {
      return await this.#record(accepted, keys);
    } finally {
      owner.leave();
    }
  }

  /** @throws GatewayError `UNAVAILABLE` */
  async run(runId: string): Promise<WebhookRun | undefined> {
    const answer = await this.#run.emit({ runId });
    return (answer ?? unavailable(`${NOBODY}; ${NEXT}`, { retryAfterMs: 5_000 })).run;
  }

  async #record(
    { mapping, action, prepared, wrapped, contentSource }: Prepared,
    keys: readonly WebhookKey[],
  ): Promise<WebhookReceipt> {
    const { clock, principalFor } = this.#options;
    const { id, value } = action;
    const acceptedAt = clock.now();
    const facts = { runId: timeOrderedId(acceptedAt), mapping, wrapped, contentSource, acceptedAt };
    const work: WebhookWork = { ...facts, attempt: 1, params: prepared.params };
    const job = value.commit && toJob(work, value, principalFor(mapping));
    const effect = job && (await charged(action, () => value.commit?.(job) ?? []));
    const receipt =
      (await this.#accept.emit({ ...facts, action: id, prepared, keys, ...(effect ? { effect } : {}) })) ??
      unavailable(`${NOBODY}, and an accepted webhook must be stored; ${NEXT}`, { retryAfterMs: 5_000 });
    if (receipt.repeated) return receipt;
    setImmediate(() => this.#logSuspicions(work, action)); // after the response
    if (job) committed(action, job);
    return receipt;
  }

  /** Suspicious text is logged, never refused. Spec: http/webhooks.md §8. */
  #logSuspicions(work: WebhookWork, { value }: Prepared["action"]): void {
    const found = suspicionsOf(work, value);
    if (found.length === 0) return;
    const facts = { runId: work.runId, mapping: work.mapping, count: found.length, first: found.slice(0, 3) };
    this.#options.log.warn(
      facts,
      "the text of a webhook looks like instructions for its reader; it is marked as external content",
    );
  }
}

function committed({ id, owner, value }: Prepared["action"], job: WebhookJob): void {
  try {
    owner.run(() => value.committed?.(job));
  } catch (error) {
    owner.charge(error, `webhook.action ${id}`, "caller");
  }
}

/** A UUID of version 7. It begins with the time, so that a new record is next to the newest ones in the indexes of its tables. */
function timeOrderedId(now: number): string {
  const time = Math.max(0, now).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

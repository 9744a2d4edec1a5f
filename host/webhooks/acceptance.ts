/** Puts on disk what a webhook has become, once for each key it comes with. Spec: spec/README.md "2xx on a webhook". */
import { randomUUID } from "node:crypto";
import { type Clock, GatewayError, isGatewayError, type Logger, type Principal, unavailable } from "@svc/sdk";
import type { WebhookFields, WebhookJob, WebhookRun } from "@svc/sdk/webhooks";
import { suspicionsOf, toJob } from "./job.ts";
import { type Accepted, charged, Held } from "./pipeline.ts";
import type { NewRun, UniqueKey } from "./run-records.ts";
import type { RunStore } from "./run-store.ts";

/** Milliseconds a key is taken. Spec of the issue it answers: 24 h. */
export const KEY_LIFETIME_MS = 24 * 3_600_000;

export interface AcceptanceOptions {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
  principalFor(mapping: string): Principal;
  /** A run waits to be carried out. */
  queued(action: string): void;
  /** A run was done with its record. */
  finished(run: WebhookRun): void;
}

/** What the sender is told. */
export interface Receipt {
  readonly runId: string;
  readonly reply: WebhookFields;
  /** The request had been accepted before; nothing new was started. */
  readonly repeated: boolean;
}

export class Acceptance {
  readonly #options: AcceptanceOptions;

  constructor(options: AcceptanceOptions) {
    this.#options = options;
  }

  /**
   * Durable when it resolves.
   * @throws GatewayError `CONFLICT` a key was used for another request; `UNAVAILABLE` it cannot be stored now
   * @throws Held the plugin of the action is being replaced, and maybe what it stores things with
   */
  async accept(accepted: Accepted, keys: readonly UniqueKey[]): Promise<Receipt> {
    const { owner } = accepted.action;
    if (owner.hold && !owner.hold.passes()) throw new Held(owner.hold);
    owner.enter();
    try {
      return await this.#accept(accepted, keys);
    } finally {
      owner.leave();
    }
  }

  async #accept(accepted: Accepted, keys: readonly UniqueKey[]): Promise<Receipt> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const { action, prepared } = accepted;
    const run = newRun(accepted, now);
    const job = action.value.commit && this.#job(run, accepted); // the queue makes those that are carried out later
    const effect = job ? await charged(action, () => action.value.commit?.(job) ?? []) : [];
    try {
      await store.accept(run, keys, now + KEY_LIFETIME_MS, effect);
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "CONFLICT") throw error;
      return this.#repeated(keys, now);
    }
    setImmediate(() => this.#logSuspicions(run, accepted)); // nobody waits for it
    if (job) this.#committed(run, accepted, job);
    else this.#options.queued(action.id);
    return { runId: run.runId, reply: prepared.reply ?? {}, repeated: false };
  }

  #job(run: NewRun, { action }: Accepted): WebhookJob {
    const { runId, mapping, acceptedAt } = run;
    const record = { run: { runId, mapping, action: action.id, status: run.status, acceptedAt, attempts: 0 } };
    return toJob(record, run.job, action.value, 1, this.#options.principalFor(mapping));
  }

  /** Nothing is refused for them. Spec: http/webhooks.md §8. */
  #logSuspicions({ runId, mapping, job }: NewRun, { action }: Accepted): void {
    const found = suspicionsOf(job, action.value);
    if (found.length === 0) return;
    const facts = { runId, mapping, count: found.length, first: found.slice(0, 3) };
    this.#options.log.warn(
      facts,
      "the text of a webhook looks like instructions for its reader; it is marked as from outside",
    );
  }

  async #repeated(keys: readonly UniqueKey[], now: number): Promise<Receipt> {
    const { store } = this.#options;
    const taken = await store.taken(keys, now);
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

  #committed(run: NewRun, { action }: Accepted, job: WebhookJob): void {
    const { owner, value } = action;
    try {
      owner.run(() => value.committed?.(job));
    } catch (error) {
      owner.charge(error, `webhook.action ${action.id}`, "caller");
    }
    const { runId, mapping, acceptedAt, sessionKey } = run;
    this.#options.finished({
      runId,
      status: "done",
      mapping,
      action: action.id,
      acceptedAt,
      startedAt: acceptedAt,
      endedAt: acceptedAt,
      attempts: 1,
      ...(sessionKey === undefined ? {} : { sessionKey }),
    });
  }
}

function newRun({ mapping, action, prepared, wrapped, contentSource }: Accepted, acceptedAt: number): NewRun {
  return {
    runId: randomUUID(),
    mapping,
    action: action.id,
    status: action.value.commit ? "done" : "queued",
    job: { params: prepared.params, wrapped, contentSource },
    reply: prepared.reply ?? {},
    sessionKey: prepared.sessionKey,
    acceptedAt,
  };
}

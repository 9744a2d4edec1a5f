/** Queue of pending questions: each is recorded, then announced, then settled once, by a decision or by expiry. Spec: methods-exec-approvals.md §2-4. */
import { type Clock, GatewayError, type Logger, unavailable } from "@svc/sdk";
import type { ApprovalRecord, Decision, ExpiryReason, Requester } from "./approval-rows.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { Asked } from "./asking.ts";

/** Choice: maximum pending questions, in total and per requester. */
export const MAX_PENDING = 1_000;
export const MAX_PENDING_EACH = 100;
/** Spec: §2. Choice: the maximum of 24 h. */
export const DEFAULT_TIMEOUT_MS = 120_000;
export const MAX_TIMEOUT_MS = 24 * 3_600_000;
/** Milliseconds until the gateway retries to record an expiry after a failed write. */
const RETRY_MS = 1_000;

export interface ApprovalQueueParts {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Notifies the approvers. @returns false: there is none to notify. Never rejects */
  announce(record: ApprovalRecord): boolean | Promise<boolean>;
  announceDecision(record: ApprovalRecord, decision: Decision): void;
  announceExpiry(record: ApprovalRecord): void;
  /** Called for a question of this gateway that was decided at another one. */
  decidedElsewhere(record: ApprovalRecord): void;
  /** Asks the gateway of an owner to look at its questions. */
  nudge(owner: string): void;
  newId(): string;
}

/** A question with its requester and options. */
export interface NewQuestion {
  /** Default: a generated id. */
  readonly id?: string | undefined;
  readonly asked: Asked;
  readonly requester: Requester;
  /** Milliseconds; default 120000, at most 24 h. */
  readonly timeoutMs?: number | undefined;
  /** true: people are asked even if a grant allows it. */
  readonly always: boolean;
}

/** A question that the queue accepted. */
export interface Taken {
  readonly record: ApprovalRecord;
  /** The final record: decided or expired. */
  readonly settled: Promise<ApprovalRecord>;
}

interface Pending {
  readonly requester: string;
  readonly settled: Promise<ApprovalRecord>;
  readonly settle: (record: ApprovalRecord) => void;
  readonly abandon: (reason: unknown) => void;
  cancelTimer: () => void;
}

export class ApprovalQueue {
  readonly #parts: ApprovalQueueParts;
  readonly #pending = new Map<string, Pending>();

  constructor(parts: ApprovalQueueParts) {
    this.#parts = parts;
  }

  /** @throws GatewayError `UNAVAILABLE`: too many pending questions, or the write failed. @returns undefined: the id exists already */
  async take(question: NewQuestion): Promise<Taken | undefined> {
    const record = this.#record(question);
    if (this.#pending.has(record.id)) return undefined;
    this.#reserve(record);
    try {
      const granted = question.always ? "no grant" : await this.#byGrant(record);
      if (granted === "known" || (granted === "no grant" && !(await this.#parts.store.add(record)))) {
        this.#abandon(record.id, known());
        return undefined;
      }
      return granted === "no grant" ? this.#ask(record) : this.#answered(granted);
    } catch (error) {
      this.#abandon(record.id, error);
      throw error;
    }
  }

  #answered(record: ApprovalRecord): Taken {
    this.#settle(record);
    return { record, settled: Promise.resolve(record) };
  }

  #ask(record: ApprovalRecord): Taken {
    const { clock, announce } = this.#parts;
    const pending = this.#pending.get(record.id);
    if (!pending) throw stopped();
    const asked = announce(record);
    if (asked === false) void this.close(record.id, "nobody to ask");
    else
      pending.cancelTimer = clock.setTimeout(() => void this.close(record.id, "time"), record.expiresAt - clock.now());
    if (asked instanceof Promise)
      void asked.then((wasAsked) => (wasAsked ? undefined : this.close(record.id, "nobody to ask")));
    return { record, settled: pending.settled };
  }

  #record({ id, asked, requester, timeoutMs = DEFAULT_TIMEOUT_MS }: NewQuestion): ApprovalRecord {
    const now = this.#parts.clock.now();
    return {
      ...asked,
      id: id ?? this.#parts.newId(),
      status: "pending",
      decision: null,
      reason: null,
      requester,
      createdAt: now,
      expiresAt: now + Math.min(Math.max(1, timeoutMs), MAX_TIMEOUT_MS),
      resolvedAt: null,
      resolvedBy: null,
      usedAt: null,
      grant: null,
      owner: this.#parts.store.owner.id,
    };
  }

  async #byGrant(record: ApprovalRecord): Promise<ApprovalRecord | "known" | "no grant"> {
    const { store } = this.#parts;
    const granting = await store.grantingOf(record);
    if (!granting) return "no grant";
    const decided = { status: "decided", decision: granting.decision, resolvedAt: record.createdAt } as const;
    const expiresAt = Math.min(record.expiresAt, granting.expiresAt); // nothing may run on an expired grant
    const answered: ApprovalRecord = { ...record, ...decided, expiresAt, reason: "a grant allows it" };
    const outcome = await store.addGranted(answered, granting);
    return outcome === "answered" ? answered : outcome;
  }

  #reserve(record: ApprovalRecord): void {
    const requester = requesterKey(record.requester);
    const own = [...this.#pending.values()].filter((pending) => pending.requester === requester).length;
    if (this.#pending.size >= MAX_PENDING || own >= MAX_PENDING_EACH) {
      const most = own >= MAX_PENDING_EACH ? `${MAX_PENDING_EACH} of one client` : String(MAX_PENDING);
      unavailable(`too many questions are pending (${most}). Next: svc approvals list, and decide some`, {
        retryAfterMs: 10_000,
      });
    }
    const { promise, resolve, reject } = deferred();
    promise.catch(() => {}); // avoids an unhandled rejection when no caller waits
    const cancelTimer = () => {}; // replaced when the question is announced
    this.#pending.set(record.id, { requester, settled: promise, settle: resolve, abandon: reject, cancelTimer });
  }

  /** The final record of a question that is pending in this process. */
  waiting(id: string): Promise<ApprovalRecord> | undefined {
    return this.#pending.get(id)?.settled;
  }

  /** @returns the record afterwards; `won`: whether this decision counts */
  async decide(
    record: ApprovalRecord,
    decision: Decision,
  ): Promise<{ won: boolean; record: ApprovalRecord | undefined }> {
    const { store, clock, log, announceDecision, nudge } = this.#parts;
    const now = clock.now();
    if (!(await store.decide(record, decision, now))) {
      const other = await store.get(record.id);
      if (other && other.status !== "pending") this.#settle(other);
      return { won: false, record: other };
    }
    // Not read again: the decision counts even if the storage fails now.
    const { decision: said, by, principalId, grant = null } = decision;
    const answer = { status: "decided", decision: said, resolvedAt: now, resolvedBy: by, grant } as const;
    const after: ApprovalRecord = { ...record, ...answer };
    log.info({ id: record.id, decision: said, by: principalId, ...(grant && { grant }) }, "a question was decided");
    announceDecision(after, decision);
    if (!this.#pending.has(record.id) && record.owner !== null) nudge(record.owner);
    this.#settle(after);
    return { won: true, record: after };
  }

  /** Settles the questions that were decided at other gateways. */
  async look(): Promise<void> {
    for (const record of await this.#parts.store.settled([...this.#pending.keys()])) {
      if (this.#pending.has(record.id) && record.status === "decided") this.#parts.decidedElsewhere(record);
      this.#settle(record);
    }
  }

  /** Expires a question unless it is decided. A failed write is retried; the requester is notified only after the write. */
  async close(id: string, reason: ExpiryReason): Promise<void> {
    const { store, clock, log, announceExpiry } = this.#parts;
    const pending = this.#pending.get(id);
    try {
      await store.expire(id, reason, clock.now());
      const record = await store.get(id);
      if (record?.status === "expired" && pending) announceExpiry(record);
      if (record) this.#settle(record);
    } catch (error) {
      if (!pending || this.#pending.get(id) !== pending) return;
      log.warn({ id, error: String(error) }, "the expiry of a question could not be recorded; retrying");
      pending.cancelTimer();
      pending.cancelTimer = clock.setTimeout(() => void this.close(id, reason), RETRY_MS);
    }
  }

  #settle(record: ApprovalRecord): void {
    const pending = this.#pending.get(record.id);
    if (!pending) return;
    this.#pending.delete(record.id);
    pending.cancelTimer();
    pending.settle(record);
  }

  #abandon(id: string, reason: unknown): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.cancelTimer();
    pending?.abandon(reason);
  }

  /** Rejects all waiting callers; the next start closes their questions. */
  stop(): void {
    for (const id of this.#pending.keys()) this.#abandon(id, stopped());
  }
}

function requesterKey({ principalId, deviceId, connectionId }: Requester): string {
  return JSON.stringify(deviceId ?? connectionId ?? { principalId });
}

function stopped(): GatewayError {
  return new GatewayError("UNAVAILABLE", "the plugin approvals is stopping; ask again after its restart", {
    retryAfterMs: 1_000,
  });
}

function known(): GatewayError {
  return new GatewayError("UNAVAILABLE", "a question with this id already exists; ask with another id");
}

function deferred() {
  let settle: (record: ApprovalRecord) => void = () => {};
  let fail: (reason: unknown) => void = () => {};
  const promise = new Promise<ApprovalRecord>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  return { promise, resolve: settle, reject: fail };
}

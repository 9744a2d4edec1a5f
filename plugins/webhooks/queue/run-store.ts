/**
 * Durable records of accepted webhooks. Every update names the state, the attempt and the owner it expects, so that a delayed gateway cannot
 * overwrite a later write of another one.
 */
import type { Clock, ParamsOf } from "@svc/sdk";
import type { Condition, Owner, Row, SqlValue, Storage } from "@svc/sdk/storage";
import type { AcceptedWebhook, WebhookKey, WebhookResult, webhooks } from "@svc/sdk/webhooks";
import { COLUMNS, insert, type NewRun, type RunRecord, STEPS, take, type TakenKey, toRecord } from "./run-records.ts";

const DEFAULT_LIMIT = 50;

/** An attempt of a run. */
export interface Attempt {
  readonly runId: string;
  /** Who makes it. */
  readonly owner: Owner;
  /** From 1. */
  readonly number: number;
  /** epoch ms */
  readonly startedAt: number;
  /** Whether the record says that it is running. False only for the first attempt of a run that this process accepted. */
  isClaimed: boolean;
}

export class RunStore {
  readonly #storage: () => Storage;
  readonly #clock: Pick<Clock, "now">;
  /** The current owner of what is accepted or claimed here. @throws GatewayError `UNAVAILABLE` */
  readonly owner: () => Promise<Owner>;
  #migrated: { readonly storage: Storage; readonly done: Promise<void> } | undefined;

  /** @param storage called at each use. @throws GatewayError `UNAVAILABLE` while there is no storage */
  constructor(storage: () => Storage, owner: () => Promise<Owner>, clock: Pick<Clock, "now">) {
    this.#storage = storage;
    this.owner = owner;
    this.#clock = clock;
  }

  /** The storage with the tables created; migrated once per storage. */
  async #open(): Promise<Storage> {
    const storage = this.#storage();
    if (this.#migrated?.storage !== storage) {
      const done = storage.migrate("webhooks", STEPS);
      this.#migrated = { storage, done };
      done.catch(() => (this.#migrated = undefined));
    }
    await this.#migrated?.done;
    return storage;
  }

  /**
   * Records a webhook with its keys and its effect in one transaction. Durable when it resolves.
   * @param expiresAt epoch ms until which the keys are reserved
   * @returns its owner, if it is not done
   * @throws GatewayError `CONFLICT` a key is in use, or a statement of the effect was refused; `UNAVAILABLE`
   */
  async accept(webhook: AcceptedWebhook, expiresAt: number): Promise<Owner> {
    const { keys, effect = [] } = webhook;
    const storage = await this.#open();
    const owner = await this.owner();
    const statements = [insert(webhook, owner, this.#clock.now()), ...effect];
    if (keys.length === 0 && effect.every(({ expectChanges }) => expectChanges === undefined))
      await storage.append(statements);
    else await storage.transaction([...keys.flatMap((key) => take(key, webhook, expiresAt)), ...statements]);
    return owner;
  }

  /** Runs that currently hold these keys, by position. */
  async taken(keys: readonly WebhookKey[], now: number): Promise<readonly (TakenKey | undefined)[]> {
    const storage = await this.#open();
    const rows = await Promise.all(
      keys.map(({ key }) =>
        storage.get<{ digest: string; run_id: string }>(
          "SELECT digest, run_id FROM webhook_keys WHERE key = ? AND expires_at > ?",
          [key, now],
        ),
      ),
    );
    return rows.map((row) => row && { runId: row.run_id, digest: row.digest });
  }

  async find(runId: string): Promise<RunRecord | undefined> {
    if (runId.includes("\0")) return undefined; // storage refuses text with U+0000, as value and as parameter
    const storage = await this.#open();
    const row = await storage.get<Row>(`SELECT ${COLUMNS} FROM webhook_runs WHERE run_id = ?`, [runId]);
    return row && toRecord(row);
  }

  /** Newest first. */
  async list({
    status,
    mapping,
    limit = DEFAULT_LIMIT,
  }: ParamsOf<typeof webhooks.runs>): Promise<readonly RunRecord[]> {
    if (mapping?.includes("\0")) return [];
    const storage = await this.#open();
    const where = [...(status ? ["status = ?"] : []), ...(mapping ? ["mapping = ?"] : [])].join(" AND ") || "1 = 1";
    const params = [...(status ? [status] : []), ...(mapping ? [mapping] : []), limit];
    const sql = `SELECT ${COLUMNS} FROM webhook_runs WHERE ${where} ORDER BY accepted_at DESC, run_id DESC LIMIT ?`;
    return (await storage.all<Row>(sql, params)).map(toRecord);
  }

  /** Lets other gateways take what waits here. @param inFlight ids of the runs in progress */
  async release(inFlight: readonly string[]): Promise<void> {
    const { id } = await this.owner();
    const others = `run_id NOT IN (${inFlight.map(() => "?").join(", ") || "''"})`;
    const sql = `UPDATE webhook_runs SET owner = NULL WHERE status = 'queued' AND owner = ? AND ${others}`;
    await (await this.#open()).transaction([{ sql, params: [id, ...inFlight] }]);
  }

  /** Queued runs of an action that are due here, oldest first. */
  async due(action: string, now: number, limit: number): Promise<readonly RunRecord[]> {
    const storage = await this.#open();
    const ours = oursIn(await this.owner());
    const rows = await storage.all<Row>(
      `SELECT ${COLUMNS} FROM webhook_runs WHERE action = ? AND status = 'queued' AND next_attempt_at <= ? AND ${ours.sql}
       ORDER BY next_attempt_at, run_id LIMIT ?`,
      [action, now, ...ours.params, limit],
    );
    return rows.map(toRecord);
  }

  /** Actions with queued runs, and the time at which the first run of each is due here (epoch ms). */
  async waiting(): Promise<ReadonlyMap<string, number>> {
    const storage = await this.#open();
    const ours = oursIn(await this.owner());
    const rows = await storage.all<{ action: string; due: number | bigint }>(
      `SELECT action, MIN(next_attempt_at) AS due FROM webhook_runs WHERE status = 'queued' AND ${ours.sql} GROUP BY action`,
      ours.params,
    );
    return new Map(rows.map(({ action, due }) => [action, Number(due)]));
  }

  /** Marks a queued run as running. @throws GatewayError `CONFLICT` another gateway has claimed it */
  async claim({ runId, owner, number, startedAt }: Attempt): Promise<void> {
    const storage = await this.#open();
    const ours = oursIn(owner);
    await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET status = 'running', attempts = attempts + 1, started_at = ?, next_attempt_at = NULL, owner = ?
              WHERE run_id = ? AND status = 'queued' AND attempts = ? AND ${ours.sql}`,
        params: [startedAt, owner.id, runId, number - 1, ...ours.params],
        expectChanges: 1,
      },
    ]);
  }

  done(attempt: Attempt, now: number, { summary, details }: WebhookResult): Promise<void> {
    return this.#end(attempt, {
      sql: "status = 'done', job = NULL, reason = NULL, ended_at = ?, summary = ?, details = ?",
      params: [now, summary ?? null, details === undefined ? null : JSON.stringify(details)],
    });
  }

  /** Preserves the job, so that the run can be replayed. */
  failed(attempt: Attempt, now: number, reason: string): Promise<void> {
    return this.#end(attempt, {
      sql: "status = 'failed', ended_at = ?, reason = ?, failures = failures + 1",
      params: [now, reason],
    });
  }

  /** @param counts false if the attempt was interrupted, which does not count as a failure of the run */
  again(attempt: Attempt, at: number, reason: string | undefined, counts: boolean): Promise<void> {
    return this.#end(attempt, {
      sql: `status = 'queued', next_attempt_at = ?, reason = ?, failures = failures + ${counts ? 1 : 0}`,
      params: [at, reason ?? null],
    });
  }

  async #end(
    { runId, owner, number, startedAt, isClaimed }: Attempt,
    set: { sql: string; params: readonly SqlValue[] },
  ): Promise<void> {
    const storage = await this.#open();
    if (!isClaimed)
      return storage.append([
        {
          sql: `UPDATE webhook_runs SET attempts = 1, started_at = ?, next_attempt_at = NULL, ${set.sql}
                WHERE run_id = ? AND status = 'queued' AND attempts = 0 AND owner = ?`,
          params: [startedAt, ...set.params, runId, owner.id],
        },
      ]);
    await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET ${set.sql} WHERE run_id = ? AND status = 'running' AND attempts = ? AND owner = ?`,
        params: [...set.params, runId, number, owner.id],
        expectChanges: 1,
      },
    ]);
  }

  /**
   * Requeues runs marked as running whose gateway has ended, and those of this gateway that are not in flight.
   * @param inFlight ids of the runs in flight here
   */
  async recover(now: number, inFlight: readonly string[]): Promise<number> {
    const storage = await this.#open();
    const owner = await this.owner();
    const free = owner.free("owner");
    const [result] = await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET status = 'queued', next_attempt_at = ?, reason = 'it was interrupted', owner = ?
              WHERE status = 'running'
                AND (${free.sql} OR (owner = ? AND run_id NOT IN (${inFlight.map(() => "?").join(", ") || "''"})))`,
        params: [now, owner.id, ...free.params, owner.id, ...inFlight],
      },
    ]);
    return result?.changes ?? 0;
  }

  /** Records `run` as the replay of a failed run. @throws GatewayError `CONFLICT` that run was already replayed, or has not failed */
  async replay(run: NewRun & { readonly replayOf: string }): Promise<void> {
    const storage = await this.#open();
    const owner = await this.owner();
    await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET replayed_as = ? WHERE run_id = ? AND status = 'failed' AND replayed_as IS NULL`,
        params: [run.runId, run.replayOf],
        expectChanges: 1,
      },
      insert(run, owner, this.#clock.now()),
    ]);
  }
}

/** Rows that the owner has or may take. */
function oursIn(owner: Owner): Condition {
  const free = owner.free("owner");
  return { sql: `(owner = ? OR ${free.sql})`, params: [owner.id, ...free.params] };
}

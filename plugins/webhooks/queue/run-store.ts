/**
 * Durable records of accepted webhooks. Every update names the state and the attempt it expects, so that a delayed
 * process cannot overwrite what another one has written since.
 */
import type { ParamsOf } from "@svc/sdk";
import type { Row, SqlValue, Storage } from "@svc/sdk/storage";
import type { AcceptedWebhook, WebhookKey, WebhookResult, webhooks } from "@svc/sdk/webhooks";
import { COLUMNS, insert, type NewRun, type RunRecord, STEPS, take, type TakenKey, toRecord } from "./run-records.ts";

const DEFAULT_LIMIT = 50;

export class RunStore {
  readonly #storage: () => Storage;
  #migrated: { readonly storage: Storage; readonly done: Promise<void> } | undefined;

  /** @param storage asked at each use. @throws GatewayError `UNAVAILABLE` while there is none */
  constructor(storage: () => Storage) {
    this.#storage = storage;
  }

  /** The storage with the tables in it; migrated once per storage. */
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
   * @param expiresAt epoch ms until which the keys are taken
   * @throws GatewayError `CONFLICT` a key is taken, or a statement of the effect refused; `UNAVAILABLE`
   */
  async accept(webhook: AcceptedWebhook, expiresAt: number): Promise<void> {
    const { keys, effect = [] } = webhook;
    const storage = await this.#open();
    await storage.transaction([...keys.flatMap((key) => take(key, webhook, expiresAt)), insert(webhook), ...effect]);
  }

  /** Runs that hold these keys now, by position. */
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
    if (runId.includes("\0")) return undefined; // no storage keeps such a text, or lets itself be asked for one
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

  /** Queued runs of an action that are due, oldest first. */
  async due(action: string, now: number, limit: number): Promise<readonly RunRecord[]> {
    const storage = await this.#open();
    const rows = await storage.all<Row>(
      `SELECT ${COLUMNS} FROM webhook_runs WHERE action = ? AND status = 'queued' AND next_attempt_at <= ?
       ORDER BY next_attempt_at, run_id LIMIT ?`,
      [action, now, limit],
    );
    return rows.map(toRecord);
  }

  /** Actions with queued runs, and when the first run of each is due (epoch ms). */
  async waiting(): Promise<ReadonlyMap<string, number>> {
    const storage = await this.#open();
    const rows = await storage.all<{ action: string; due: number | bigint }>(
      "SELECT action, MIN(next_attempt_at) AS due FROM webhook_runs WHERE status = 'queued' GROUP BY action",
    );
    return new Map(rows.map(({ action, due }) => [action, Number(due)]));
  }

  /** Marks a queued run as running. @throws GatewayError `CONFLICT` somebody else has it */
  async claim({ run }: RunRecord, now: number): Promise<void> {
    const storage = await this.#open();
    await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET status = 'running', attempts = attempts + 1, started_at = ?, next_attempt_at = NULL
              WHERE run_id = ? AND status = 'queued' AND attempts = ?`,
        params: [now, run.runId, run.attempts],
        expectChanges: 1,
      },
    ]);
  }

  /** @param attempt the one that was made */
  done(runId: string, attempt: number, now: number, { summary, details }: WebhookResult): Promise<void> {
    return this.#end(runId, attempt, {
      sql: "status = 'done', job = NULL, reason = NULL, ended_at = ?, summary = ?, details = ?",
      params: [now, summary ?? null, details === undefined ? null : JSON.stringify(details)],
    });
  }

  /** Keeps the job, so that the run can be replayed. */
  failed(runId: string, attempt: number, now: number, reason: string): Promise<void> {
    return this.#end(runId, attempt, {
      sql: "status = 'failed', ended_at = ?, reason = ?, failures = failures + 1",
      params: [now, reason],
    });
  }

  /** @param counts false: the attempt was interrupted, which is no failure of the run */
  again(runId: string, attempt: number, at: number, reason: string | undefined, counts: boolean): Promise<void> {
    return this.#end(runId, attempt, {
      sql: `status = 'queued', next_attempt_at = ?, reason = ?, failures = failures + ${counts ? 1 : 0}`,
      params: [at, reason ?? null],
    });
  }

  async #end(runId: string, attempt: number, set: { sql: string; params: readonly SqlValue[] }): Promise<void> {
    const storage = await this.#open();
    await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET ${set.sql} WHERE run_id = ? AND status = 'running' AND attempts = ?`,
        params: [...set.params, runId, attempt],
        expectChanges: 1,
      },
    ]);
  }

  /**
   * Queues again what is marked as running and is not in flight. One gateway has a state directory at a time, so nobody else runs it.
   * @param inFlight ids of those that are carried out here
   */
  async recover(now: number, inFlight: readonly string[]): Promise<number> {
    const storage = await this.#open();
    const [result] = await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET status = 'queued', next_attempt_at = ?, reason = 'it was cut off'
              WHERE status = 'running' AND run_id NOT IN (${inFlight.map(() => "?").join(", ") || "''"})`,
        params: [now, ...inFlight],
      },
    ]);
    return result?.changes ?? 0;
  }

  /** Records `run` as the repetition of a failed one. @throws GatewayError `CONFLICT` it was replayed before, or has not failed */
  async replay(run: NewRun & { readonly replayOf: string }): Promise<void> {
    const storage = await this.#open();
    await storage.transaction([
      {
        sql: `UPDATE webhook_runs SET replayed_as = ? WHERE run_id = ? AND status = 'failed' AND replayed_as IS NULL`,
        params: [run.runId, run.replayOf],
        expectChanges: 1,
      },
      insert(run),
    ]);
  }
}

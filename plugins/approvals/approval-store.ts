/** Stores questions and grants in the tables `approvals` and `approval_grants`. */
import { isGatewayError, unavailable } from "@svc/sdk";
import type { ApprovalDecision, ApprovalGrantRow } from "@svc/sdk/approvals";
import type { Owner, Row, SqlValue, Statement, Storage } from "@svc/sdk/storage";
import {
  type ApprovalRecord,
  type Decision,
  type ExpiryReason,
  insertGrant,
  insertRecord,
  type Requester,
  STEPS,
  toDecision,
  toGrant,
  toRecord,
} from "./approval-rows.ts";
import { GRANT_MS } from "./grants.ts";

/** A grant that answers a question. */
export interface Granting {
  readonly digest: string;
  readonly decision: ApprovalDecision;
  readonly expiresAt: number;
}

const HAS_GRANT = `EXISTS (SELECT 1 FROM approval_grants g
  WHERE g.kind = approvals.kind AND g.digest = approvals.digest AND g.expires_at > ?)`;

export class ApprovalStore {
  readonly #storage: Storage;
  #owner: Owner | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Of the questions that are asked here. */
  get owner(): Owner {
    return this.#owner ?? unavailable("the plugin approvals is not ready");
  }

  async open(owner: Owner): Promise<void> {
    await this.#storage.migrate("approvals", STEPS);
    this.#owner = owner;
  }

  /**
   * Expires questions of an earlier process, and of gateways that have ended, since no caller waits for them.
   * @param now epoch ms @returns these questions
   */
  async closeLeft(now: number): Promise<readonly ApprovalRecord[]> {
    const { sql: free, params } = this.owner.free("owner");
    const left = `status = 'pending' AND ${free}`;
    const some = await this.#storage.get<Row>(`SELECT 1 AS one FROM approvals WHERE ${left} LIMIT 1`, params);
    if (!some) return []; // most starts write nothing
    const sql = `UPDATE approvals SET status = 'expired', reason = 'restart', resolved_at = ? WHERE ${left} RETURNING *`;
    const [closed] = await this.#storage.transaction([{ sql, params: [now, ...params] }]);
    return (closed?.rows ?? []).map(toRecord);
  }

  /** Those of `ids` that are no longer pending. */
  async settled(ids: readonly string[]): Promise<readonly ApprovalRecord[]> {
    const places = ids.map(() => "?").join(", ");
    const sql = `SELECT * FROM approvals WHERE status <> 'pending' AND id IN (${places})`;
    return ids.length === 0 ? [] : (await this.#storage.all<Row>(sql, ids)).map(toRecord);
  }

  /** @returns false: the id exists already */
  async add(record: ApprovalRecord): Promise<boolean> {
    const [added] = await this.#storage.transaction([insertRecord(record)]);
    return added?.changes === 1;
  }

  /** Records a question that a grant answers. @returns `no grant`: the grant has ended; `known`: the id exists already */
  async addGranted(record: ApprovalRecord, { digest }: Granting): Promise<"answered" | "no grant" | "known"> {
    const { kind, createdAt } = record;
    const touch = "UPDATE approval_grants SET last_used_at = ? WHERE kind = ? AND digest = ? AND expires_at > ?";
    const params = [createdAt, kind, digest, createdAt];
    return this.#attempt(
      [
        { sql: touch, params, expectChanges: 1 },
        { ...insertRecord(record), expectChanges: 1 },
      ],
      async () => ((await this.get(record.id)) ? "known" : "no grant"),
    );
  }

  async get(id: string): Promise<ApprovalRecord | undefined> {
    const row = await this.#storage.get<Row>(`SELECT * FROM approvals WHERE id = ?`, [id]);
    return row && toRecord(row);
  }

  /** The grant for this question, else the one for its session. */
  async grantingOf({ kind, digest, sessionDigest, createdAt }: ApprovalRecord): Promise<Granting | undefined> {
    const sql = "SELECT * FROM approval_grants WHERE kind = ? AND digest IN (?, ?) AND expires_at > ?";
    const rows = await this.#storage.all<Row>(sql, [kind, digest, sessionDigest ?? digest, createdAt]);
    const row = rows.find((one) => one["digest"] === digest) ?? rows[0];
    const decision = row && toDecision(row);
    return decision ? { digest: String(row["digest"]), decision, expiresAt: Number(row["expires_at"]) } : undefined;
  }

  /** Decides a pending, unexpired question and stores its grant. @returns false: already decided or expired */
  async decide(record: ApprovalRecord, said: Decision, now: number): Promise<boolean> {
    const { decision, by, principalId, grant } = said;
    const sql = `UPDATE approvals SET status = 'decided', decision = ?, resolved_at = ?, resolved_by = ?, resolved_principal = ?, granted = ?
      WHERE id = ? AND status = 'pending' AND expires_at > ?`;
    const granted = grant ? JSON.stringify(grant) : null;
    const decided = { sql, params: [decision, now, by, principalId, granted, record.id, now], expectChanges: 1 };
    const always = { for: "this", expiresAtMs: now + GRANT_MS } as const;
    const kept = grant ?? (decision === "allow-always" ? always : undefined);
    const statements = kept ? [decided, insertGrant(record, said, kept, now)] : [decided];
    return (await this.#attempt(statements, async () => "known")) === "answered";
  }

  /** Expires an undecided question. @returns false: already decided or expired */
  async expire(id: string, reason: ExpiryReason, now: number): Promise<boolean> {
    const sql =
      "UPDATE approvals SET status = 'expired', reason = ?, resolved_at = ? WHERE id = ? AND status = 'pending'";
    const [closed] = await this.#storage.transaction([{ sql, params: [reason, now, id] }]);
    return closed?.changes === 1;
  }

  /**
   * Uses an approval: `allow-once` one time, `allow-always` while its grant exists.
   * @returns false: not usable, or not any more. true: the use is recorded permanently
   */
  async use(id: string, now: number): Promise<boolean> {
    const sql = `UPDATE approvals SET used_at = ? WHERE id = ? AND status = 'decided' AND expires_at > ?
      AND ((decision = 'allow-once' AND used_at IS NULL) OR (decision = 'allow-always' AND ${HAS_GRANT}))`;
    const [used] = await this.#storage.transaction([{ sql, params: [now, id, now, now] }]);
    return used?.changes === 1;
  }

  /** Pending questions, newest first, then the others. @param of only those of this requester */
  async list(limit: number, of: Requester | undefined): Promise<ApprovalRecord[]> {
    const [own, params]: [string, SqlValue[]] = of === undefined ? ["true", []] : ownedBy(of);
    const select = (status: string) =>
      `SELECT * FROM approvals WHERE ${status} AND ${own} ORDER BY created_at DESC, id LIMIT ?`;
    const pending = await this.#storage.all<Row>(select("status = 'pending'"), [...params, limit]);
    const others = await this.#storage.all<Row>(select("status <> 'pending'"), [...params, limit]);
    return [...pending, ...others].slice(0, limit).map(toRecord);
  }

  /** Grants that have not expired, newest first. */
  async grants(now: number): Promise<ApprovalGrantRow[]> {
    const sql = "SELECT * FROM approval_grants WHERE expires_at > ? ORDER BY created_at DESC, digest";
    const rows = await this.#storage.all<Row>(sql, [now]);
    return rows.map(toGrant);
  }

  /** @returns false: no such grant */
  async forget(digest: string): Promise<boolean> {
    const sql = "DELETE FROM approval_grants WHERE digest = ?";
    const [gone] = await this.#storage.transaction([{ sql, params: [digest] }]);
    return (gone?.changes ?? 0) > 0;
  }

  /** Runs a transaction; a conflict means that a row was not in the expected state. */
  async #attempt<T>(statements: readonly Statement[], otherwise: () => Promise<T>): Promise<T | "answered"> {
    try {
      await this.#storage.transaction(statements);
      return "answered";
    } catch (error) {
      if (isGatewayError(error) && error.code === "CONFLICT") return otherwise();
      throw error;
    }
  }
}

function ownedBy({ principalId, deviceId, connectionId }: Requester): [string, SqlValue[]] {
  if (deviceId !== null) return ["requester_device = ?", [deviceId]];
  if (connectionId !== null) return ["requester_connection = ?", [connectionId]];
  return ["requester_principal = ? AND requester_connection IS NULL", [principalId]];
}

/**
 * The older node store: requests and approved nodes. It admits no connection: a node authenticates with its device key.
 * Earlier versions issued tokens, which are stored as SHA-256 and can still be verified. Spec:
 * protocol/methods-node.md §5, protocol/stores.md §6, README.md "connect written from the contract alone".
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { isGatewayError, unavailable } from "@svc/sdk";
import type { PairedNode, PendingNode } from "@svc/sdk/nodes";
import type { Row, Storage } from "@svc/sdk/storage";

/** Lifetime of a request in milliseconds. */
export const PENDING_TTL_MS = 300_000;
/** Choice: maximum pending requests; further ones are refused. */
export const MAX_PENDING_REQUESTS = 100;

/** Facts that a node reports about itself. */
export type NodeFacts = Omit<PendingNode, "requestId" | "nodeId" | "isRepair" | "ts">;

interface PendingRow extends Row {
  readonly request_id: string;
  readonly node_id: string;
  readonly facts: string;
  readonly ts: number | bigint;
}

interface PairedRow extends Row {
  readonly node_id: string;
  /** Empty: no token was issued. */
  readonly token_hash: string;
  readonly facts: string;
  readonly created_at: number | bigint;
  readonly approved_at: number | bigint;
}

interface StoreSources {
  readonly storage: Storage;
  /** epoch ms */
  readonly now: () => number;
  readonly newId: () => string;
}

export class OlderStore {
  readonly #sources: StoreSources;

  constructor(sources: StoreSources) {
    this.#sources = sources;
  }

  /** A pending request is returned unchanged. @throws GatewayError `UNAVAILABLE`: too many are pending */
  async request(nodeId: string, facts: NodeFacts): Promise<{ request: PendingNode; created: boolean }> {
    const { storage, now, newId } = this.#sources;
    const ts = now();
    const [, inserted] = await storage.transaction([
      { sql: "DELETE FROM nodes_pending WHERE ts <= ?", params: [ts - PENDING_TTL_MS] },
      {
        sql: `INSERT INTO nodes_pending (request_id, node_id, facts, ts)
          SELECT ?, ?, ?, ? FROM (SELECT count(*) AS n FROM nodes_pending) waiting WHERE waiting.n < ?
          ON CONFLICT (node_id) DO NOTHING`,
        params: [newId(), nodeId, JSON.stringify(facts), ts, MAX_PENDING_REQUESTS],
      },
    ]);
    const row = await storage.get<PendingRow>("SELECT * FROM nodes_pending WHERE node_id = ?", [nodeId]);
    if (!row)
      unavailable(`${MAX_PENDING_REQUESTS} nodes already wait for an approval; see: svc nodes approve`, {
        retryAfterMs: 60_000,
      });
    return { request: toPending(row, await this.#isPaired(nodeId)), created: inserted?.changes === 1 };
  }

  /** Unexpired requests, newest first. */
  async pending(): Promise<PendingNode[]> {
    const { storage, now } = this.#sources;
    const sql = `SELECT pending.*, paired.node_id AS known FROM nodes_pending pending
      LEFT JOIN nodes_paired paired ON paired.node_id = pending.node_id
      WHERE pending.ts > ? ORDER BY pending.ts DESC, pending.request_id`;
    const rows = await storage.all<PendingRow>(sql, [now() - PENDING_TTL_MS]);
    return rows.map((row) => toPending(row, row["known"] !== null));
  }

  /** Newest approval first. */
  async paired(): Promise<PairedNode[]> {
    const sql = "SELECT * FROM nodes_paired ORDER BY approved_at DESC, node_id";
    return (await this.#sources.storage.all<PairedRow>(sql)).map(toPaired);
  }

  /** A token of an earlier approval stays valid. @returns the node; `undefined`: no such request */
  async approve(requestId: string): Promise<PairedNode | undefined> {
    const { storage, now } = this.#sources;
    const row = await this.#waiting(requestId);
    if (!row) return undefined;
    const at = now();
    try {
      await storage.transaction([
        {
          sql: "DELETE FROM nodes_pending WHERE request_id = ? AND ts > ?",
          params: [requestId, at - PENDING_TTL_MS],
          expectChanges: 1,
        },
        {
          sql: `INSERT INTO nodes_paired (node_id, token_hash, facts, created_at, approved_at) VALUES (?, '', ?, ?, ?)
            ON CONFLICT (node_id) DO UPDATE SET facts = excluded.facts, approved_at = excluded.approved_at`,
          params: [row.node_id, row.facts, at, at],
        },
      ]);
    } catch (error) {
      if (isGatewayError(error) && error.code === "CONFLICT") return undefined; // decided concurrently
      throw error;
    }
    const paired = await this.#find(row.node_id);
    return paired && toPaired(paired);
  }

  /** @returns the node's id; `undefined`: no such request */
  async reject(requestId: string): Promise<string | undefined> {
    const { storage, now } = this.#sources;
    const [deleted] = await storage.transaction([
      {
        sql: "DELETE FROM nodes_pending WHERE request_id = ? AND ts > ? RETURNING node_id",
        params: [requestId, now() - PENDING_TTL_MS],
      },
    ]);
    const nodeId = deleted?.rows[0]?.["node_id"];
    return nodeId === undefined ? undefined : String(nodeId);
  }

  /** @returns the node if an earlier approval issued this token to it */
  async verify(nodeId: string, token: string): Promise<PairedNode | undefined> {
    const row = await this.#find(nodeId);
    const expected = row?.token_hash ? Buffer.from(row.token_hash, "hex") : Buffer.alloc(32);
    const isRight = timingSafeEqual(hashOf(token), expected);
    return row && isRight ? toPaired(row) : undefined;
  }

  /** @returns whether the node exists */
  async rename(nodeId: string, displayName: string): Promise<boolean> {
    for (;;) {
      const row = await this.#find(nodeId);
      if (!row) return false;
      const facts = JSON.stringify({ ...factsOf(row.facts), displayName });
      const [changed] = await this.#sources.storage.transaction([
        {
          sql: "UPDATE nodes_paired SET facts = ? WHERE node_id = ? AND facts = ?",
          params: [facts, nodeId, row.facts],
        },
      ]);
      if (changed?.changes === 1) return true;
    }
  }

  #waiting(requestId: string): Promise<PendingRow | undefined> {
    const { storage, now } = this.#sources;
    const sql = "SELECT * FROM nodes_pending WHERE request_id = ? AND ts > ?";
    return storage.get<PendingRow>(sql, [requestId, now() - PENDING_TTL_MS]);
  }

  #find(nodeId: string): Promise<PairedRow | undefined> {
    return this.#sources.storage.get<PairedRow>("SELECT * FROM nodes_paired WHERE node_id = ?", [nodeId]);
  }

  async #isPaired(nodeId: string): Promise<boolean> {
    return (await this.#find(nodeId)) !== undefined;
  }
}

/** What is stored of a token. */
export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function factsOf(text: string): NodeFacts {
  return JSON.parse(text) as NodeFacts; // written by this store only
}

function toPending({ request_id, node_id, facts, ts }: PendingRow, isRepair: boolean): PendingNode {
  const request = { ...factsOf(facts), requestId: request_id, nodeId: node_id, ts: Number(ts) };
  return isRepair ? { ...request, isRepair } : request;
}

function toPaired({ node_id, facts, created_at, approved_at }: PairedRow): PairedNode {
  const { silent: _silent, ...known } = factsOf(facts);
  return { ...known, nodeId: node_id, createdAtMs: Number(created_at), approvedAtMs: Number(approved_at) };
}

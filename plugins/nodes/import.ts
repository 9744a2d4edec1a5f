/** Takes nodes of the older store of another gateway. */
import type { ImportOutcome, NodeRecord } from "@svc/sdk/import";
import type { Storage } from "@svc/sdk/storage";
import { hashOf, type NodeFacts } from "./older-store.ts";
import { present } from "./values.ts";

/** Stores a node with the digest of its token. One that is stored here is not changed. @throws errors of the storage. */
export async function takeNode(storage: Storage, node: NodeRecord): Promise<Omit<ImportOutcome, "id">> {
  const { id, token, displayName, platform, version, commands, caps, createdAt, approvedAt } = node;
  const facts: NodeFacts = present({ displayName, platform, version, commands, caps });
  const [inserted] = await storage.transaction([
    {
      sql: `INSERT INTO nodes_paired (node_id, token_hash, facts, created_at, approved_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (node_id) DO NOTHING`,
      params: [id, hashOf(token).toString("hex"), JSON.stringify(facts), createdAt, approvedAt],
    },
  ]);
  return inserted?.changes === 1 ? { action: "take" } : { action: "skip", reason: "the node is stored here" };
}

/** Stored nodes. */
export async function countNodes(storage: Storage): Promise<number> {
  const row = await storage.get<{ n: number | bigint }>("SELECT count(*) AS n FROM nodes_paired");
  return Number(row?.n ?? 0);
}

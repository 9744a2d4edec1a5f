/** Tables of this plugin. Steps are only ever appended. Spec: protocol/stores.md §6 and §9. */
import type { Retention } from "@svc/sdk/storage";
import { RUN_STEPS } from "./started-runs.ts";

export const STEPS = [
  `CREATE TABLE nodes_pending (
    request_id TEXT PRIMARY KEY,
    node_id TEXT NOT NULL UNIQUE,
    facts TEXT NOT NULL,
    ts BIGINT NOT NULL
  )`,
  `CREATE TABLE nodes_paired (
    node_id TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL,
    facts TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    approved_at BIGINT NOT NULL
  )`,
  `CREATE TABLE nodes_push (
    node_id TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    topic TEXT NOT NULL,
    environment TEXT NOT NULL,
    updated_at BIGINT NOT NULL
  )`,
  ...RUN_STEPS,
];

export const NODE_RETENTION: Retention = {
  tables: ["nodes_paired"],
  holds: "nodes of the older store",
  rule: "until removed",
};

/** `PENDING_TTL_MS` of older-store.ts; expired requests are deleted with the next insert, or by this rule. */
export const PENDING_RETENTION: Retention = {
  tables: ["nodes_pending"],
  holds: "nodes of the older store that wait for approval",
  rule: "5 minutes",
  rows: [{ table: "nodes_pending", key: ["request_id"], at: "ts", olderThanMs: 300_000 }],
};

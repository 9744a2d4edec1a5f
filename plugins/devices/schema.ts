/** Tables of this plugin. Steps are only ever appended. */
import type { Retention } from "@svc/sdk/storage";

/** `body`: JSON of the record, without the fields that have a column. `origin`: the sender's address, by which requests are counted. */
export const STEPS = [
  `CREATE TABLE devices_paired (
    device_id TEXT PRIMARY KEY,
    revision BIGINT NOT NULL,
    approved_at BIGINT NOT NULL,
    body TEXT NOT NULL
  )`,
  `CREATE TABLE devices_tokens (
    device_id TEXT NOT NULL,
    role TEXT NOT NULL,
    salt TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    rotated_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (device_id, role)
  )`,
  `CREATE TABLE devices_pending (
    request_id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL UNIQUE,
    former_id TEXT,
    origin TEXT NOT NULL,
    ts BIGINT NOT NULL,
    body TEXT NOT NULL
  )`,
  "CREATE INDEX devices_pending_origin ON devices_pending (origin, ts)",
  "CREATE INDEX devices_pending_former ON devices_pending (former_id) WHERE former_id IS NOT NULL",
  `CREATE TABLE devices_facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  )`,
  // `adoptedDigest` of the token that another gateway issued; while it is set, `created_at` is the time of the import
  "ALTER TABLE devices_tokens ADD COLUMN adopted TEXT",
] as const;

export const DEVICE_RETENTION: Retention = {
  tables: ["devices_paired", "devices_tokens", "devices_facts"],
  holds: "paired devices and their tokens",
  rule: "until removed: svc devices remove",
};

/** `PENDING_TTL_MS` of pending-store.ts; expired requests are deleted with the next insert, or by this rule. */
export const PENDING_RETENTION: Retention = {
  tables: ["devices_pending"],
  holds: "devices that wait for approval",
  rule: "5 minutes",
  rows: [{ table: "devices_pending", key: ["request_id"], at: "ts", olderThanMs: 300_000 }],
};

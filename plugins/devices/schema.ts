/** Tables of this plugin. Steps are only ever appended. */

/** `body`: JSON of the record without what has a column. `origin`: the address a request came from, as requests are counted by. */
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
] as const;

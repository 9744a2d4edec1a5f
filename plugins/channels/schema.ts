/** Tables of incoming messages and outgoing texts. */
import type { Retention } from "@svc/sdk/storage";

/**
 * `key`: digest of channel, account and the network's message id, or random. `status`: `accepted` until an agent has
 * answered; then `answered`, `silent` or `failed`. `job`: data that resumes the message, until then.
 */
const INBOUND = [
  `CREATE TABLE channel_inbound (
    key TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    account_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    job TEXT,
    accepted_at BIGINT NOT NULL,
    settled_at BIGINT
  )`,
  "CREATE INDEX channel_inbound_accepted ON channel_inbound (accepted_at) WHERE status = 'accepted'",
  "CREATE INDEX channel_inbound_settled ON channel_inbound (settled_at) WHERE settled_at IS NOT NULL",
];

/**
 * `sent`: pieces that the network has accepted. `once`: one attempt, because a caller waits for the result. `mirror_key`: session
 * that records the text when it is sent. `status`: `waiting`, `sent`, `failed`.
 */
const OUTBOX = [
  `CREATE TABLE channel_outbox (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    account_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    thread_id TEXT,
    text TEXT NOT NULL,
    max_chars BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    message_id TEXT,
    once BIGINT NOT NULL,
    mirror_key TEXT,
    status TEXT NOT NULL,
    reason TEXT,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT
  )`,
  "CREATE INDEX channel_outbox_waiting ON channel_outbox (created_at) WHERE status = 'waiting'",
  "CREATE INDEX channel_outbox_ended ON channel_outbox (ended_at) WHERE ended_at IS NOT NULL",
];

/** `mirror_origin`: origin of the recorded text, as JSON. */
const LATER = ["ALTER TABLE channel_outbox ADD COLUMN mirror_origin TEXT"];

/** Append only. */
export const STEPS: readonly string[] = [...INBOUND, ...OUTBOX, ...LATER];

const KEEP_MS = 3 * 86_400_000;

/** Choice: the periods and counts. Until then a message is not accepted twice, and the outcome of a text can be queried. */
export const CHANNEL_RETENTION: Retention = {
  tables: ["channel_inbound", "channel_outbox"],
  holds: "incoming messages of channels, and outgoing texts",
  rule: "3 days after the message was answered, or the text was sent or failed; newest 50,000 of each",
  rows: [
    { table: "channel_inbound", key: ["key"], at: "settled_at", olderThanMs: KEEP_MS, most: 50_000 },
    { table: "channel_outbox", key: ["id"], at: "ended_at", olderThanMs: KEEP_MS, most: 50_000 },
  ],
};

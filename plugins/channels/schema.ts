/** Tables: messages that came in, and texts on their way out. */

/**
 * `key`: digest of channel, account and the network's message id, or random. `status`: `accepted` until an agent has
 * answered; then `answered`, `silent` or `failed`. `job`: what is needed to carry it on, until then.
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
 * `sent`: pieces the network has taken. `once`: one attempt, for who waits for its result. `mirror_key`: session that notes
 * the text when it is sent. `status`: `waiting`, `sent`, `failed`.
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

/** Only ever appended to. */
export const STEPS: readonly string[] = [...INBOUND, ...OUTBOX];

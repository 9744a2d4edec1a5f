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
const ORIGIN = ["ALTER TABLE channel_outbox ADD COLUMN mirror_origin TEXT"];

/** `extras`: files, buttons and the like of an outgoing message, as JSON. `channel_media`: files, received and to be sent. */
const MEDIA = [
  "ALTER TABLE channel_outbox ADD COLUMN extras TEXT",
  "ALTER TABLE channel_outbox ADD COLUMN poll_id TEXT",
  `CREATE TABLE channel_media (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    voice BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    created_at BIGINT NOT NULL
  )`,
  "CREATE INDEX channel_media_created ON channel_media (created_at)",
];

/** People who asked for access: `approved_at` is set once the owner has approved the code. */
const PAIRING = [
  `CREATE TABLE channel_pairing (
    channel TEXT NOT NULL,
    account_id TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    sender_name TEXT,
    chat_id TEXT NOT NULL,
    code TEXT,
    expires_at BIGINT,
    approved_at BIGINT,
    PRIMARY KEY (channel, account_id, sender_id)
  )`,
  "CREATE INDEX channel_pairing_expires ON channel_pairing (expires_at) WHERE expires_at IS NOT NULL",
];

/** Messages of groups that did not mention the agent. `place`: digest of channel, account, chat and thread. */
const CONTEXT = [
  `CREATE TABLE channel_context (
    key TEXT PRIMARY KEY,
    place TEXT NOT NULL,
    sender TEXT NOT NULL,
    text TEXT NOT NULL,
    at BIGINT NOT NULL
  )`,
  "CREATE INDEX channel_context_place ON channel_context (place, at)",
  "CREATE INDEX channel_context_at ON channel_context (at)",
];

/** `owner`: the gateway that answers an accepted message. */
const OWNER = ["ALTER TABLE channel_inbound ADD COLUMN owner TEXT"];

/** What an account remembers between its runs, as JSON. */
const ACCOUNT_STATE = [
  `CREATE TABLE channel_account_state (
    channel TEXT NOT NULL,
    account_id TEXT NOT NULL,
    body TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (channel, account_id)
  )`,
  "CREATE INDEX channel_account_state_updated ON channel_account_state (updated_at)",
];

/** Append only. */
export const STEPS: readonly string[] = [
  ...INBOUND,
  ...OUTBOX,
  ...ORIGIN,
  ...MEDIA,
  ...PAIRING,
  ...CONTEXT,
  ...OWNER,
  ...ACCOUNT_STATE,
];

const KEEP_MS = 3 * 86_400_000;

/** Choice: the periods and counts. Until then a message is not accepted twice, and the outcome of a text can be queried. */
export const CHANNEL_RETENTION: Retention = {
  tables: [
    "channel_inbound",
    "channel_outbox",
    "channel_media",
    "channel_context",
    "channel_pairing",
    "channel_account_state",
  ],
  holds:
    "messages of channels and their files, messages of groups that are context, people who asked for access, and how far accounts have read",
  rule:
    "3 days after the message was answered or sent, or the file or group message arrived; newest 50,000 messages of each kind and 1,000 files, 500 MB of received ones; " +
    "codes when they expire, approved people until svc channels pairing remove; the newest 1,000 accounts",
  rows: [
    { table: "channel_inbound", key: ["key"], at: "settled_at", olderThanMs: KEEP_MS, most: 50_000 },
    { table: "channel_outbox", key: ["id"], at: "ended_at", olderThanMs: KEEP_MS, most: 50_000 },
    { table: "channel_media", key: ["id"], at: "created_at", olderThanMs: KEEP_MS, most: 1_000 },
    { table: "channel_context", key: ["key"], at: "at", olderThanMs: KEEP_MS, most: 50_000 },
    { table: "channel_pairing", key: ["channel", "account_id", "sender_id"], at: "expires_at", olderThanMs: 0 },
    { table: "channel_account_state", key: ["channel", "account_id"], at: "updated_at", most: 1_000 },
  ],
};

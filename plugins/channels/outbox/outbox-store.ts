/** Outgoing texts on disk, with progress and outcome. Table `channel_outbox`. */
import type { Origin } from "@svc/sdk";
import type { MessageButton, MessagePoll } from "@svc/sdk/channels";
import type { Row, SqlValue, Statement } from "@svc/sdk/storage";
import type { OwnedAccounts } from "../accounts/owned-accounts.ts";
import type { OpenStorage } from "../open-storage.ts";

/** What a message has beside its text. Plain data. */
export interface Extras {
  /** Ids of stored files. */
  readonly media?: readonly string[];
  /** The files follow the text. Default: they come first, and a text that fits is in the message of the only file. */
  readonly mediaLast?: boolean;
  /** The network's id of the message to answer. */
  readonly replyTo?: string;
  /** Every piece answers `replyTo`. Default: only the first one. */
  readonly repliesAlways?: boolean;
  readonly buttons?: readonly (readonly MessageButton[])[];
  readonly poll?: MessagePoll;
  readonly silent?: boolean;
  /** Id of an earlier text of this outbox: if it was sent, its message is changed to the first piece of this text. */
  readonly draft?: string;
}

export interface NewText {
  /** Unique. */
  readonly id: string;
  readonly channel: string;
  readonly accountId: string;
  /** In the channel's own notation. */
  readonly to: string;
  readonly threadId?: string;
  readonly text: string;
  /** Characters one message can carry. */
  readonly maxChars: number;
  /** Send with one attempt only, because a caller waits for the result. */
  readonly once?: boolean;
  /** Session that records the text when it is sent. */
  readonly mirrorKey?: string;
  /** Origin of the recorded text; absent: the owner. */
  readonly mirrorOrigin?: Origin;
  readonly extras?: Extras;
}

export interface OutboxText extends NewText {
  readonly sent: number;
  /** The network's id of the last message sent. */
  readonly messageId?: string;
  /** The network's id of the sent poll. */
  readonly pollId?: string;
  readonly status: "waiting" | "sent" | "failed";
  readonly reason?: string;
  readonly attempts: number;
  readonly nextAt: number;
  readonly createdAt: number;
  readonly endedAt?: number;
}

export class OutboxStore {
  readonly #storage: OpenStorage;
  readonly #owned: Pick<OwnedAccounts, "holds">;

  /** @param owned decides who may change the texts of an account */
  constructor(storage: OpenStorage, owned: Pick<OwnedAccounts, "holds">) {
    this.#storage = storage;
    this.#owned = owned;
  }

  /** Statement that stores a text, for a transaction; an existing text with the same id is unchanged. */
  insert(text: NewText, now: number): Statement {
    const { id, channel, accountId, to, threadId, maxChars, once = false, mirrorKey, mirrorOrigin, extras } = text;
    return {
      sql: `INSERT INTO channel_outbox (id, channel, account_id, recipient, thread_id, text, max_chars, sent, once, mirror_key,
              mirror_origin, extras, status, attempts, next_at, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, 'waiting', 0, ?, ?) ON CONFLICT (id) DO NOTHING`,
      params: [
        id,
        channel,
        accountId,
        to,
        threadId ?? null,
        text.text,
        maxChars,
        once ? 1 : 0,
        mirrorKey ?? null,
        mirrorOrigin === undefined ? null : JSON.stringify(mirrorOrigin),
        extras === undefined ? null : JSON.stringify(extras),
        now,
        now,
      ],
    };
  }

  /** @param forgottenBefore epoch ms; a text with this id that ended earlier is replaced. @returns whether it is new */
  async add(text: NewText, now: number, forgottenBefore?: number): Promise<boolean> {
    const storage = await this.#storage.get();
    const forget: Statement[] =
      forgottenBefore === undefined
        ? []
        : [{ sql: "DELETE FROM channel_outbox WHERE id = ? AND ended_at < ?", params: [text.id, forgottenBefore] }];
    const results = await storage.transaction([...forget, this.insert(text, now)]);
    return results.at(-1)?.changes === 1;
  }

  async find(id: string): Promise<OutboxText | undefined> {
    const storage = await this.#storage.get();
    const row = await storage.get<Row>("SELECT * FROM channel_outbox WHERE id = ?", [id]);
    return row && toText(row);
  }

  /** Texts whose ids begin with `prefix` and a colon. */
  async below(prefix: string): Promise<OutboxText[]> {
    const storage = await this.#storage.get();
    // A range uses the index of the ids, unlike LIKE; `;` follows `:`.
    const sql = "SELECT * FROM channel_outbox WHERE id > ? AND id < ?";
    return (await storage.all<Row>(sql, [`${prefix}:`, `${prefix};`])).map(toText);
  }

  /** In the order they were stored. */
  async waiting(): Promise<OutboxText[]> {
    const storage = await this.#storage.get();
    const rows = await storage.all<Row>(
      "SELECT * FROM channel_outbox WHERE status = 'waiting' ORDER BY created_at, id",
    );
    return rows.map(toText);
  }

  /** By `<channel> <account>`: number of failed texts, and the reason of the last one. */
  async failures(): Promise<ReadonlyMap<string, { readonly count: number; readonly reason: string }>> {
    const storage = await this.#storage.get();
    const rows = await storage.all<Row>(
      `SELECT channel, account_id, count(*) AS n,
         (SELECT reason FROM channel_outbox AS last WHERE last.status = 'failed' AND last.channel = failed.channel
            AND last.account_id = failed.account_id ORDER BY last.ended_at DESC LIMIT 1) AS reason
       FROM channel_outbox AS failed WHERE status = 'failed' GROUP BY channel, account_id`,
    );
    return new Map(
      rows.map((row) => [
        `${String(row["channel"])} ${String(row["account_id"])}`,
        { count: Number(row["n"]), reason: String(row["reason"]) },
      ]),
    );
  }

  /** Records the number of pieces that the network has accepted. */
  progressed(text: OutboxText): Statement {
    return this.#change(text, "sent = ?, message_id = coalesce(?, message_id)", [text.sent, text.messageId ?? null]);
  }

  again(text: OutboxText, attempts: number, nextAt: number, reason: string): Statement {
    return this.#change(text, "attempts = ?, next_at = ?, reason = ?", [attempts, nextAt, reason]);
  }

  /** Records progress and outcome of a text; its session may record the text in the same transaction. */
  ended(text: OutboxText): readonly Statement[] {
    const { sent, messageId, pollId, status, attempts, reason, endedAt = 0 } = text;
    const values = [sent, messageId ?? null, pollId ?? null, status, attempts, reason ?? null, endedAt];
    const set =
      "sent = ?, message_id = coalesce(?, message_id), poll_id = ?, status = ?, attempts = ?, reason = ?, ended_at = ?";
    return [this.#change(text, set, values)];
  }

  async write(statements: readonly Statement[]): Promise<void> {
    const storage = await this.#storage.get();
    await storage.transaction(statements);
  }

  /** Conflicts when another gateway has taken over the account. */
  #change({ id, channel, accountId }: OutboxText, set: string, values: readonly SqlValue[]): Statement {
    const held = this.#owned.holds(channel, accountId);
    return {
      sql: `UPDATE channel_outbox SET ${set} WHERE id = ? AND status = 'waiting' AND ${held.sql}`,
      params: [...values, id, ...held.params],
      expectChanges: 1,
    };
  }
}

function toText(row: Row): OutboxText {
  const text = (column: string) => (row[column] === null ? undefined : String(row[column]));
  const [threadId, mirrorKey, messageId, pollId, reason] = [
    "thread_id",
    "mirror_key",
    "message_id",
    "poll_id",
    "reason",
  ].map(text);
  const [mirrorOrigin, extras] = ["mirror_origin", "extras"].map(text);
  return {
    id: String(row["id"]),
    channel: String(row["channel"]),
    accountId: String(row["account_id"]),
    to: String(row["recipient"]),
    text: String(row["text"]),
    maxChars: Number(row["max_chars"]),
    once: Number(row["once"]) === 1,
    sent: Number(row["sent"]),
    status: row["status"] as OutboxText["status"], // written by the statements above
    attempts: Number(row["attempts"]),
    nextAt: Number(row["next_at"]),
    createdAt: Number(row["created_at"]),
    ...(threadId === undefined ? {} : { threadId }),
    ...(mirrorKey === undefined ? {} : { mirrorKey }),
    ...(mirrorOrigin === undefined ? {} : { mirrorOrigin: JSON.parse(mirrorOrigin) as Origin }), // written by `insert`
    ...(extras === undefined ? {} : { extras: JSON.parse(extras) as Extras }), // written by `insert`
    ...(messageId === undefined ? {} : { messageId }),
    ...(pollId === undefined ? {} : { pollId }),
    ...(reason === undefined ? {} : { reason }),
    ...(row["ended_at"] === null ? {} : { endedAt: Number(row["ended_at"]) }),
  };
}

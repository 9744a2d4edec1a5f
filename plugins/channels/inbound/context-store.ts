/** Messages of groups that did not mention the agent: it sees them with the next mention. Table `channel_context`. */
import { createHash } from "node:crypto";
import type { Row, Statement } from "@svc/sdk/storage";
import type { OpenStorage } from "../open-storage.ts";
import { messageKey } from "./inbound-message.ts";

/** Default number of messages of a group that are kept. Spec: http/config.md §7.8 `messages.groupChat.historyLimit`. */
export const HISTORY_LIMIT = 50;
/** Choice: maximum number of characters of a kept message. */
const MAX_KEPT_CHARS = 2_000;

/** A kept message. */
export interface ContextMessage {
  readonly key: string;
  readonly sender: string;
  readonly text: string;
  /** epoch ms */
  readonly at: number;
}

/** The key under which the messages of a chat are kept. */
export function contextPlace(channel: string, accountId: string, chatId: string, threadId: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([channel, accountId, chatId, threadId ?? null]))
    .digest("hex")
    .slice(0, 32);
}

/** The key of a message of a group. */
export function contextKey(channel: string, accountId: string, chatId: string, messageId: string): string {
  return messageKey(channel, accountId, JSON.stringify([chatId, messageId]));
}

export class ContextStore {
  readonly #storage: OpenStorage;

  constructor(storage: OpenStorage) {
    this.#storage = storage;
  }

  /** Keeps a message; a known one is unchanged. @param limit number of messages of the place that stay */
  async keep(place: string, { key, sender, text, at }: ContextMessage, limit: number): Promise<void> {
    const storage = await this.#storage.get();
    await storage.transaction([
      {
        sql: "INSERT INTO channel_context (key, place, sender, text, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
        params: [key, place, sender, text.slice(0, MAX_KEPT_CHARS), at],
      },
      {
        sql: `DELETE FROM channel_context WHERE place = ? AND key NOT IN
                (SELECT key FROM channel_context WHERE place = ? ORDER BY at DESC, key LIMIT ?)`,
        params: [place, place, limit],
      },
    ]);
  }

  /** Changes or deletes (`undefined`) a kept message. */
  async change(key: string, text: string | undefined): Promise<void> {
    const storage = await this.#storage.get();
    const statement: Statement =
      text === undefined
        ? { sql: "DELETE FROM channel_context WHERE key = ?", params: [key] }
        : { sql: "UPDATE channel_context SET text = ? WHERE key = ?", params: [text.slice(0, MAX_KEPT_CHARS), key] };
    await storage.transaction([statement]);
  }

  /** The kept messages, oldest first. */
  async of(place: string): Promise<readonly ContextMessage[]> {
    const storage = await this.#storage.get();
    const rows = await storage.all<Row>("SELECT * FROM channel_context WHERE place = ? ORDER BY at, key", [place]);
    return rows.map((row) => ({
      key: String(row["key"]),
      sender: String(row["sender"]),
      text: String(row["text"]),
      at: Number(row["at"]),
    }));
  }

  /** Statement that deletes what `of` has returned; later messages stay. */
  forget(place: string, upTo: ContextMessage): Statement {
    return { sql: "DELETE FROM channel_context WHERE place = ? AND at <= ?", params: [place, upTo.at] };
  }
}

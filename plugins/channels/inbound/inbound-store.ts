/** Incoming messages on disk: accepted, answered, and remembered so that none is accepted twice. Table `channel_inbound`. */
import { isGatewayError, type Principal } from "@svc/sdk";
import type { InboundMedia } from "@svc/sdk/channels";
import type { Owner, Row, Statement } from "@svc/sdk/storage";
import type { OpenStorage } from "../open-storage.ts";

/** Data that resumes a message after a restart. */
export interface InboundJob {
  /** Message to the agent. */
  readonly message: string;
  readonly prompt: string;
  /** Text with a command of the person; it runs first, and decides what the agent gets instead of `message`. */
  readonly command?: string;
  /** With `command`: what the message quotes or forwards, for a command that starts a run. */
  readonly around?: string;
  readonly principal: Principal;
  readonly chatType: "direct" | "group";
  readonly chatName?: string;
  readonly senderName?: string;
  /** Address of the answer. */
  readonly replyTo: string;
  readonly threadId?: string;
  readonly parentId?: string;
  readonly maxTextChars: number;
  /** The network's id of the message. */
  readonly messageId?: string;
  readonly media?: readonly InboundMedia[];
  /** The files are somebody else's. Default false. */
  readonly isForwarded?: boolean;
}

export interface AcceptedMessage {
  readonly key: string;
  readonly channel: string;
  readonly accountId: string;
  /** Canonical. */
  readonly sessionKey: string;
  /** Run id of the first attempt. */
  readonly runId: string;
  /** From 1. */
  readonly attempt: number;
  readonly acceptedAt: number;
  readonly job: InboundJob;
}

/** Outcome of a message. */
export type InboundEnding = { readonly status: "answered" | "silent" | "failed"; readonly reason?: string };

export class InboundStore {
  readonly #storage: OpenStorage;
  readonly #owner: () => Owner;

  /** @param owner of the messages that are accepted or taken over here */
  constructor(storage: OpenStorage, owner: () => Owner) {
    this.#storage = storage;
    this.#owner = owner;
  }

  /**
   * Durable when it resolves, together with `alongside`.
   * @returns false if a message with this key was already accepted
   */
  async accept(message: AcceptedMessage, alongside: readonly Statement[] = []): Promise<boolean> {
    const { key, channel, accountId, sessionKey, runId, attempt, acceptedAt, job } = message;
    const storage = await this.#storage.get();
    const statements: readonly Statement[] = [
      {
        sql: `INSERT INTO channel_inbound (key, channel, account_id, session_key, run_id, attempt, status, job, accepted_at, owner)
              VALUES (?, ?, ?, ?, ?, ?, 'accepted', ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
        params: [
          key,
          channel,
          accountId,
          sessionKey,
          runId,
          attempt,
          JSON.stringify(job),
          acceptedAt,
          this.#owner().id,
        ],
        expectChanges: 1,
      },
      ...alongside,
    ];
    try {
      await storage.transaction(statements);
      return true;
    } catch (error) {
      if (isGatewayError(error) && error.code === "CONFLICT") return false; // and nothing of `alongside` is done
      throw error;
    }
  }

  async isKnown(key: string): Promise<boolean> {
    const storage = await this.#storage.get();
    return (await storage.get("SELECT key FROM channel_inbound WHERE key = ?", [key])) !== undefined;
  }

  /** Messages without an outcome, in order of arrival; takes over those of gateways that have ended. */
  async accepted(): Promise<AcceptedMessage[]> {
    const storage = await this.#storage.get();
    const owner = this.#owner();
    const free = owner.free("owner");
    const freeOnes = `status = 'accepted' AND ${free.sql}`;
    const orphan = await storage.get(`SELECT key FROM channel_inbound WHERE ${freeOnes} LIMIT 1`, free.params);
    if (orphan)
      await storage.transaction([
        { sql: `UPDATE channel_inbound SET owner = ? WHERE ${freeOnes}`, params: [owner.id, ...free.params] },
      ]);
    const rows = await storage.all<Row>(
      "SELECT * FROM channel_inbound WHERE status = 'accepted' AND owner = ? ORDER BY accepted_at, key",
      [owner.id],
    );
    return rows.map(toMessage);
  }

  async attempted(key: string, attempt: number): Promise<void> {
    const storage = await this.#storage.get();
    await storage.transaction([
      {
        sql: "UPDATE channel_inbound SET attempt = ? WHERE key = ? AND status = 'accepted' AND owner = ?",
        params: [attempt, key, this.#owner().id],
        expectChanges: 1,
      },
    ]);
  }

  /**
   * Records the outcome of a message together with `alongside`, in one transaction.
   * @throws GatewayError `CONFLICT` the outcome was already recorded, or another gateway answers the message
   */
  async settle(
    key: string,
    { status, reason }: InboundEnding,
    now: number,
    alongside: readonly Statement[],
  ): Promise<void> {
    const storage = await this.#storage.get();
    await storage.transaction([
      {
        sql: `UPDATE channel_inbound SET status = ?, reason = ?, job = NULL, settled_at = ?
              WHERE key = ? AND status = 'accepted' AND owner = ?`,
        params: [status, reason ?? null, now, key, this.#owner().id],
        expectChanges: 1,
      },
      ...alongside,
    ]);
  }
}

function toMessage(row: Row): AcceptedMessage {
  return {
    key: String(row["key"]),
    channel: String(row["channel"]),
    accountId: String(row["account_id"]),
    sessionKey: String(row["session_key"]),
    runId: String(row["run_id"]),
    attempt: Number(row["attempt"]),
    acceptedAt: Number(row["accepted_at"]),
    job: JSON.parse(String(row["job"])) as InboundJob, // written by `accept`
  };
}

/**
 * Pairing: an unknown sender gets a code, and the owner approves the code. Approved people are kept in memory, because access
 * is checked for every message. Table `channel_pairing`.
 */
import { randomInt } from "node:crypto";
import { type Clock, notFound } from "@svc/sdk";
import type { Row, Statement } from "@svc/sdk/storage";
import type { OpenStorage } from "../open-storage.ts";

/** Milliseconds for which a code can be approved. Spec: the issue of channels. */
export const CODE_MS = 3_600_000;
/** Codes of one account that can wait at the same time; further senders get no answer until one expires. */
export const MAX_PENDING = 3;
const CODE_CHARS = 8;
/** Without characters that look alike. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** A person who asked for access. */
export interface PairingRequest {
  readonly channel: string;
  readonly accountId: string;
  readonly senderId: string;
  readonly senderName?: string;
  /** Address of the direct chat. */
  readonly chatId: string;
}

/** A request that waits for the owner. Times: epoch ms. */
export interface PendingPairing extends PairingRequest {
  readonly code: string;
  readonly expiresAt: number;
}

/** A person whose code the owner approved. */
export interface ApprovedPairing extends PairingRequest {
  readonly approvedAt: number;
}

type Place = Pick<PairingRequest, "channel" | "accountId">;

export class Pairing {
  readonly #storage: OpenStorage;
  readonly #clock: Pick<Clock, "now">;
  readonly #approved = new Set<string>();
  #loaded: Promise<void> | undefined;

  constructor(storage: OpenStorage, clock: Pick<Clock, "now">) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** Loads the approved people once. @throws GatewayError `UNAVAILABLE`; the next call tries again */
  load(): Promise<void> {
    this.#loaded ??= this.#load();
    const loaded = this.#loaded;
    loaded.catch(() => {
      if (this.#loaded === loaded) this.#loaded = undefined;
    });
    return loaded;
  }

  /** Whether the owner has approved the person; false before `load`. */
  isApproved(channel: string, accountId: string, senderId: string): boolean {
    return this.#approved.has(keyOf(channel, accountId, senderId));
  }

  /**
   * Stores a new request together with `alongside`, in one transaction.
   * @returns its code; `undefined`: the person has one already, or too many are waiting
   */
  async request(
    request: PairingRequest,
    alongside: (code: string) => readonly Statement[],
  ): Promise<string | undefined> {
    const { channel, accountId, senderId, senderName, chatId } = request;
    const pending = (await this.pending()).filter((other) => isAt(other, request));
    if (pending.length >= MAX_PENDING || pending.some((other) => other.senderId === senderId)) return undefined;
    const taken = new Set(pending.map(({ code }) => code));
    let code = newCode();
    while (taken.has(code)) code = newCode();
    const expiresAt = this.#clock.now() + CODE_MS;
    const storage = await this.#storage.get();
    await storage.transaction([
      {
        sql: `INSERT INTO channel_pairing (channel, account_id, sender_id, sender_name, chat_id, code, expires_at)
              VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (channel, account_id, sender_id) DO UPDATE SET
                sender_name = excluded.sender_name, chat_id = excluded.chat_id, code = excluded.code,
                expires_at = excluded.expires_at
              WHERE channel_pairing.approved_at IS NULL`,
        params: [channel, accountId, senderId, senderName ?? null, chatId, code, expiresAt],
      },
      ...alongside(code),
    ]);
    return code;
  }

  /** Requests that can be approved, the next to expire first. */
  async pending(): Promise<readonly PendingPairing[]> {
    const storage = await this.#storage.get();
    const rows = await storage.all<Row>(
      "SELECT * FROM channel_pairing WHERE approved_at IS NULL AND expires_at > ? ORDER BY expires_at, sender_id",
      [this.#clock.now()],
    );
    return rows.map((row) => ({
      ...toRequest(row),
      code: String(row["code"]),
      expiresAt: Number(row["expires_at"]),
    }));
  }

  /** Everyone who was approved, by channel and account. */
  async approved(): Promise<readonly ApprovedPairing[]> {
    const storage = await this.#storage.get();
    const rows = await storage.all<Row>(
      "SELECT * FROM channel_pairing WHERE approved_at IS NOT NULL ORDER BY channel, account_id, approved_at, sender_id",
    );
    return rows.map((row) => ({ ...toRequest(row), approvedAt: Number(row["approved_at"]) }));
  }

  /**
   * @param code in any case, with or without blanks
   * @throws GatewayError `NOT_FOUND` no such code waits on the channel
   */
  async approve(channel: string, accountId: string | undefined, code: string): Promise<ApprovedPairing> {
    const wanted = code.replace(/[\s-]/g, "").toUpperCase();
    const found = (await this.pending()).find(
      (one) => one.channel === channel && one.code === wanted && (accountId ?? one.accountId) === one.accountId,
    );
    if (!found) return notFound(`no pairing code "${code}" waits on ${channel}: codes expire after an hour`);
    await this.load();
    const approvedAt = this.#clock.now();
    const storage = await this.#storage.get();
    await storage.transaction([
      {
        sql: `UPDATE channel_pairing SET approved_at = ?, code = NULL, expires_at = NULL
              WHERE channel = ? AND account_id = ? AND sender_id = ? AND code = ?`,
        params: [approvedAt, channel, found.accountId, found.senderId, wanted],
        expectChanges: 1,
      },
    ]);
    this.#approved.add(keyOf(channel, found.accountId, found.senderId));
    const { code: _code, expiresAt: _expiresAt, ...request } = found;
    return { ...request, approvedAt };
  }

  /** Deletes requests and approvals of a person. @returns whether there was one */
  async remove(channel: string, accountId: string, senderId: string): Promise<boolean> {
    const storage = await this.#storage.get();
    const [result] = await storage.transaction([
      {
        sql: "DELETE FROM channel_pairing WHERE channel = ? AND account_id = ? AND sender_id = ?",
        params: [channel, accountId, senderId],
      },
    ]);
    this.#approved.delete(keyOf(channel, accountId, senderId));
    return result?.changes === 1;
  }

  async #load(): Promise<void> {
    for (const { channel, accountId, senderId } of await this.approved())
      this.#approved.add(keyOf(channel, accountId, senderId));
  }
}

function isAt(one: Place, other: Place): boolean {
  return one.channel === other.channel && one.accountId === other.accountId;
}

function newCode(): string {
  return Array.from({ length: CODE_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

function toRequest(row: Row): PairingRequest {
  const name = row["sender_name"];
  return {
    channel: String(row["channel"]),
    accountId: String(row["account_id"]),
    senderId: String(row["sender_id"]),
    chatId: String(row["chat_id"]),
    ...(typeof name === "string" ? { senderName: name } : {}),
  };
}

function keyOf(channel: string, accountId: string, senderId: string): string {
  return JSON.stringify([channel, accountId, senderId]);
}

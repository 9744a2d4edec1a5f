/** Files of messages on disk: received ones, and ones to be sent. Table `channel_media`. */
import type { MediaKind, OutboundMedia } from "@svc/sdk/channels";
import type { Row } from "@svc/sdk/storage";
import type { OpenStorage } from "./open-storage.ts";

/** Choice: bytes of received files that are kept; an older one that is still needed is downloaded again. */
export const MAX_RECEIVED_BYTES = 500_000_000;

const RECEIVED = "id >= 'in:' AND id < 'in;'"; // the ids of `receivedId`
const FORGET = `DELETE FROM channel_media WHERE id IN (
  SELECT id FROM (
    SELECT id, sum(length(bytes)) OVER (ORDER BY created_at DESC, id) AS total FROM channel_media WHERE ${RECEIVED}
  ) AS newest WHERE total > ?)`;

/** Id of a file of an incoming message. @param key of the message */
export function receivedId(key: string, index: number): string {
  return `in:${key}:${index}`;
}

export class MediaStore {
  readonly #storage: OpenStorage;
  readonly #maxReceivedBytes: number;

  constructor(storage: OpenStorage, maxReceivedBytes: number = MAX_RECEIVED_BYTES) {
    this.#storage = storage;
    this.#maxReceivedBytes = maxReceivedBytes;
  }

  /** An existing file with the same id is unchanged. @param now epoch ms */
  async add(id: string, { kind, name, mimeType, isVoice = false, bytes }: OutboundMedia, now: number): Promise<void> {
    const storage = await this.#storage.get();
    await storage.transaction([
      {
        sql: `INSERT INTO channel_media (id, kind, name, mime_type, voice, bytes, created_at)
              VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
        params: [id, kind, name, mimeType, isVoice ? 1 : 0, bytes, now],
      },
      { sql: FORGET, params: [this.#maxReceivedBytes] },
    ]);
  }

  async find(id: string): Promise<OutboundMedia | undefined> {
    const storage = await this.#storage.get();
    const row = await storage.get<Row>("SELECT * FROM channel_media WHERE id = ?", [id]);
    return row && toFile(row);
  }
}

function toFile(row: Row): OutboundMedia {
  const bytes = row["bytes"];
  return {
    kind: String(row["kind"]) as MediaKind, // written by `insert`
    name: String(row["name"]),
    mimeType: String(row["mime_type"]),
    bytes: bytes instanceof Uint8Array ? bytes : new Uint8Array(),
    ...(Number(row["voice"]) === 1 ? { isVoice: true } : {}),
  };
}

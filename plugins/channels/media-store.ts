/** Files of messages on disk: received ones until an agent has seen them, and ones to be sent. Table `channel_media`. */
import type { MediaKind, OutboundMedia } from "@svc/sdk/channels";
import type { Row, Statement } from "@svc/sdk/storage";
import type { OpenStorage } from "./open-storage.ts";

export class MediaStore {
  readonly #storage: OpenStorage;

  constructor(storage: OpenStorage) {
    this.#storage = storage;
  }

  /** Statement that stores a file; an existing file with the same id is unchanged. @param now epoch ms */
  insert(id: string, { kind, name, mimeType, isVoice = false, bytes }: OutboundMedia, now: number): Statement {
    return {
      sql: `INSERT INTO channel_media (id, kind, name, mime_type, voice, bytes, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
      params: [id, kind, name, mimeType, isVoice ? 1 : 0, bytes, now],
    };
  }

  async add(id: string, file: OutboundMedia, now: number): Promise<void> {
    const storage = await this.#storage.get();
    await storage.transaction([this.insert(id, file, now)]);
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

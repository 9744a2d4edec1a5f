/** How far an account has read, in a file, so that a restart of the gateway loses no message either. */
import { readFile } from "node:fs/promises";
import { matches, type Static, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";

/** Maximum number of remembered channels, and of messages. */
const MAX_ENTRIES = 200;
/** Posts of different channels may arrive out of order by as many milliseconds. */
const OVERLAP_MS = 10_000;
/** Posts older than as many milliseconds are not fetched. */
const MAX_AGE_MS = 24 * 60 * 60 * 1_000;

const Stored = Type.Object({
  botId: Type.String(),
  /** Time of the first run: older posts were never for the bot. */
  first: Type.Number(),
  since: Type.Number(),
  channels: Type.Array(Type.String()),
  messages: Type.Array(Type.String()),
});

export interface Cursor {
  /** Time of the server (epoch ms) after which posts may be missing; `undefined`: the account runs for the first time. */
  readonly since: number | undefined;
  /** Channels with recent events. */
  readonly channels: readonly string[];
  /** Whether the message is one of the last that the gateway has. */
  has(messageId: string): boolean;
  note(messageId: string): void;
  /** Everything until `at` was accepted, the last of it in this channel. */
  advance(at: number, channelId: string): void;
  /** @throws Error of the file system */
  save(): Promise<void>;
}

/** @param serverNow time of the server, epoch ms. An unreadable file, or one of another bot, counts as none */
export async function openCursor(file: string, botId: string, serverNow: number): Promise<Cursor> {
  const stored = await read(file);
  const own = stored?.botId === botId ? stored : undefined;
  const channels = new Set(own?.channels);
  const noted = new Set(own?.messages);
  const first = own?.first ?? serverNow;
  let since = own?.since ?? serverNow;
  let isSaved = false;
  let saving = Promise.resolve();
  const keep = (entries: Set<string>, entry: string) => {
    entries.delete(entry);
    entries.add(entry);
    const [oldest] = entries;
    if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
    isSaved = false;
  };
  return {
    since: own && Math.max(own.since - OVERLAP_MS, first, serverNow - MAX_AGE_MS),
    channels: [...channels],
    has: (messageId) => noted.has(messageId),
    note: (messageId) => keep(noted, messageId),
    advance(at, channelId) {
      since = Math.max(since, at);
      keep(channels, channelId);
    },
    save() {
      // One write at a time: the last one of a run may meet a regular one.
      saving = saving.catch(() => undefined).then(write);
      return saving;
    },
  };

  async function write(): Promise<void> {
    if (isSaved) return;
    isSaved = true;
    const content: Static<typeof Stored> = { botId, first, since, channels: [...channels], messages: [...noted] };
    try {
      await replaceFile(file, JSON.stringify(content));
    } catch (error) {
      isSaved = false;
      throw error;
    }
  }
}

async function read(file: string): Promise<Static<typeof Stored> | undefined> {
  try {
    const stored: unknown = JSON.parse(await readFile(file, "utf8"));
    return matches(Stored, stored) ? stored : undefined;
  } catch {
    return undefined; // the first run, or a file that somebody changed: only posts of a pause can be missing
  }
}

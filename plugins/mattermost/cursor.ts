/** How far an account has read, stored, so that a restart of the gateway loses no message either. */
import { Type } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";

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
  /** @throws GatewayError `UNAVAILABLE` */
  save(): Promise<void>;
}

/** @param serverNow time of the server, epoch ms. The state of another bot counts as none */
export async function openCursor(
  { openState }: Pick<ChannelRun, "openState">,
  botId: string,
  serverNow: number,
): Promise<Cursor> {
  const stored = await openState(Stored);
  const own = stored.value?.botId === botId ? stored.value : undefined;
  const channels = new Set(own?.channels);
  const noted = new Set(own?.messages);
  const first = own?.first ?? serverNow;
  let since = own?.since ?? serverNow;
  const keep = (entries: Set<string>, entry: string) => {
    entries.delete(entry);
    entries.add(entry);
    const [oldest] = entries;
    if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
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
    save: () => stored.write({ botId, first, since, channels: [...channels], messages: [...noted] }),
  };
}

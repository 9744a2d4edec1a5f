/** Passes events to the gateway: in order within a channel, each until it is on disk, because Discord has no acknowledgement. */
import type { API } from "@discordjs/core";
import { refusedCommand, repeated, submitted } from "@svc/kit/channels";
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Logger, messageOf, Turns } from "@svc/sdk";
import type { ChannelRun, Receipt } from "@svc/sdk/channels";
import { asked } from "./api.ts";
import type { Settings } from "./config.ts";
import { learnChannel, learnContent, learnPlaces, learnPoll } from "./learn.ts";
import type { Memory } from "./memory.ts";
import { COMMAND, COMPONENT, type Interaction, type NetworkEvent, toInbound } from "./translate.ts";

/** Milliseconds in which Discord wants an interaction to be answered. */
const ANSWER_MS = 3_000;
/** Maximum events that wait. */
const MAX_WAITING = 5_000;

const EPHEMERAL = 1 << 6;

/** Events whose order matters within their channel. */
const IN_ORDER = /^(?:MESSAGE_|INTERACTION_CREATE$)/;

interface InboxContext {
  readonly api: API;
  readonly memory: Memory;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Logger;
  /** Aborts when the run is over. */
  readonly signal: AbortSignal;
}

interface Inbox {
  /** Never throws. @returns false: too many events are waiting */
  take(event: NetworkEvent): boolean;
  /** Sequence number up to which all events were processed. @param last number of the last event received */
  processed(last: number): number;
}

export function createInbox({ receive }: Pick<ChannelRun<Settings>, "receive">, context: InboxContext): Inbox {
  const { memory, log, signal } = context;
  const turns = new Turns();
  /** Sequence numbers of the session. */
  let waiting = new Set<number>();

  /** Resolves to false if the run ended before the event was processed. */
  const process = async (event: NetworkEvent): Promise<boolean> => {
    try {
      signal.throwIfAborted();
      await lookUp(event, context);
      let receipt: Receipt | undefined;
      for (const message of toInbound(event, memory)) receipt = await submitted({ receive, signal }, message, context);
      learnContent(event, memory);
      if (receipt && event.t === "INTERACTION_CREATE") void answer(event.d as Interaction, receipt, context); // the type of an event determines its data
    } catch (error) {
      if (signal.aborted) return false;
      log.warn({ event: event.t, reason: messageOf(error) }, "skipped a malformed event of Discord");
    }
    return true;
  };

  return {
    take({ t, d, s }) {
      const event = { t, d, s };
      try {
        learnPlaces(event, memory);
      } catch (error) {
        log.warn({ event: t, reason: messageOf(error) }, "skipped a malformed event of Discord");
      }
      if (t === "READY") waiting = new Set(); // a new session counts from the beginning
      if (!IN_ORDER.test(t)) return true;
      const unprocessed = waiting.add(s);
      const { channel_id: channelId, channel } = Object(d) as Partial<Located>;
      void turns
        .take(String(channelId ?? channel?.id), () => process(event))
        .then((isProcessed) => isProcessed && unprocessed.delete(s));
      return waiting.size <= MAX_WAITING;
    },
    processed(last) {
      const [oldest] = waiting;
      return oldest === undefined ? last : oldest - 1;
    },
  };
}

/** What most events have. */
interface Located {
  readonly channel_id: string;
  readonly channel: { readonly id: string };
  readonly guild_id: string;
  readonly message_id: string;
  readonly author: { readonly bot?: boolean };
}

/** Fetches what the translation needs and the memory does not have: a channel, the parent of a thread, the options of a poll. */
async function lookUp({ t, d }: NetworkEvent, context: InboxContext): Promise<void> {
  const { api, memory, signal } = context;
  const { channel_id: channelId, guild_id: guildId, message_id: messageId, author } = Object(d) as Partial<Located>;
  if (channelId === undefined) return;
  const place = guildId === undefined || author?.bot ? undefined : channelId;
  for (let id = place; id !== undefined; id = memory.channels.get(id)?.parentId) {
    const wanted = id;
    if (memory.channels.get(wanted)) continue;
    const channel = await found(() => api.channels.get(wanted, { signal }), context);
    if (channel) learnChannel(channel, memory);
    else memory.channels.set(wanted, {});
  }
  if (t.startsWith("MESSAGE_POLL_VOTE_") && messageId !== undefined && !memory.polls.get(messageId)) {
    const message = await found(() => api.channels.getMessage(channelId, messageId, { signal }), context);
    learnPoll(message ?? { id: messageId }, message?.author.id === memory.self?.id, memory);
  }
}

/** The answer of Discord; `undefined` if it refuses. Repeated until there is one. @throws the reason of the signal */
async function found<T>(request: () => Promise<T>, context: InboxContext): Promise<T | undefined> {
  try {
    return await repeated(() => asked(context.signal, request), context);
  } catch {
    context.signal.throwIfAborted();
    return undefined;
  }
}

/** Discord shows an error to the person unless an interaction is answered. Never rejects. */
async function answer({ id, token, type }: Interaction, receipt: Receipt, context: InboxContext): Promise<void> {
  const { api, log } = context;
  const ending = new AnySignal(context.signal, AbortSignal.timeout(ANSWER_MS));
  const { signal } = ending;
  const content = refusedCommand(receipt) ?? "Working on it.";
  try {
    if (type === COMPONENT) await api.interactions.deferMessageUpdate(id, token, {}, { signal });
    else if (type === COMMAND) await api.interactions.reply(id, token, { content, flags: EPHEMERAL }, { signal });
  } catch (error) {
    log.debug({ reason: messageOf(error) }, "an interaction of Discord could not be answered");
  } finally {
    ending.release();
  }
}

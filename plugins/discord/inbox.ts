/** Passes events to the gateway: in order within a channel, each until it is on disk, because Discord has no acknowledgement. */
import type { API } from "@discordjs/core";
import { AnySignal } from "@svc/kit/time";
import { type Clock, GatewayError, isGatewayError, type Logger, messageOf, pause, Turns, unavailable } from "@svc/sdk";
import type { ChannelRun, InboundMessage, Receipt } from "@svc/sdk/channels";
import { asked } from "./api.ts";
import type { Settings } from "./config.ts";
import { learnChannel, learnContent, learnPlaces, learnPoll } from "./learn.ts";
import type { Memory } from "./memory.ts";
import { COMMAND, COMPONENT, type Interaction, type NetworkEvent, toInbound } from "./translate.ts";

/** Milliseconds before something is tried again. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
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

export function createInbox(run: Pick<ChannelRun<Settings>, "receive">, context: InboxContext): Inbox {
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
      for (const message of toInbound(event, memory)) receipt = await submit(message, run, context);
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

/** Fetches what the translation needs and the memory does not have: the parent of a thread, the options of a poll. */
async function lookUp({ t, d }: NetworkEvent, context: InboxContext): Promise<void> {
  const { api, memory, signal } = context;
  const { channel_id: channelId, guild_id: guildId, message_id: messageId, author } = Object(d) as Partial<Located>;
  if (channelId === undefined) return;
  if (guildId !== undefined && !author?.bot && !memory.channels.get(channelId)) {
    const channel = await found(() => api.channels.get(channelId, { signal }), context);
    if (channel) learnChannel(channel, memory);
    else memory.channels.set(channelId, {});
  }
  if (t.startsWith("MESSAGE_POLL_VOTE_") && messageId !== undefined && !memory.polls.get(messageId)) {
    const message = await found(() => api.channels.getMessage(channelId, messageId, { signal }), context);
    learnPoll(message ?? { id: messageId }, message?.author.id === memory.self?.id, memory);
  }
}

/** The answer of Discord; `undefined` if it refuses. Repeated until there is one. */
function found<T>(request: () => Promise<T>, context: InboxContext): Promise<T | undefined> {
  return repeated(async () => {
    try {
      return await asked(context.signal, request);
    } catch (error) {
      if (isGatewayError(error) && error.code !== "UNAVAILABLE") return undefined;
      throw error;
    }
  }, context);
}

function submit(message: InboundMessage, { receive }: Pick<ChannelRun<Settings>, "receive">, context: InboxContext) {
  return repeated(async () => {
    const receipt = await receive(message);
    if (!receipt.accepted && receipt.reason === "busy") unavailable("the gateway is busy");
    return receipt;
  }, context);
}

/** Repeats `work` until it succeeds. @throws the reason of the signal when the run is over */
async function repeated<T>(work: () => Promise<T>, { clock, log, signal }: InboxContext): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const inMs = Math.max(pauseMs, error instanceof GatewayError ? (error.retryAfterMs ?? 0) : 0);
      log.debug({ reason: messageOf(error), inMs }, "an event of Discord could not be processed; trying again");
      await pause(inMs, clock, signal);
      signal.throwIfAborted();
    }
  }
}

/** Discord shows an error to the person unless an interaction is answered. Never rejects. */
async function answer({ id, token, type }: Interaction, receipt: Receipt, context: InboxContext): Promise<void> {
  const { api, log } = context;
  const ending = new AnySignal(context.signal, AbortSignal.timeout(ANSWER_MS));
  const { signal } = ending;
  const isRefused = !receipt.accepted && receipt.reason === "not-allowed";
  const content = isRefused ? "You may not use this bot here." : "Working on it.";
  try {
    if (type === COMPONENT) await api.interactions.deferMessageUpdate(id, token, {}, { signal });
    else if (type === COMMAND) await api.interactions.reply(id, token, { content, flags: EPHEMERAL }, { signal });
  } catch (error) {
    log.debug({ reason: messageOf(error) }, "an interaction of Discord could not be answered");
  } finally {
    ending.release();
  }
}

/** Completes an event with what it only names by id, and submits it until the gateway has it. */
import { type Clock, isGatewayError, type Logger, pause, unavailable, untilAborted } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import type { Directory } from "./directory.ts";
import type { NetworkEvent, Post } from "./events.ts";
import { type Bot, isIgnored, toInbound } from "./translate.ts";

/** Pauses in milliseconds before work that failed is repeated. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

export interface SubmitSources {
  readonly run: Pick<ChannelRun<Settings>, "receive" | "signal">;
  readonly bot: Bot;
  readonly directory: Directory;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Logger;
  /** Called with the id of each message that the gateway has, or has refused for good. */
  readonly onDone: (messageId: string) => void;
}

export interface Submit {
  /** Resolves when the message is on disk or was refused for good. @throws GatewayError `NOT_LINKED`; the abort reason */
  submit(event: NetworkEvent): Promise<void>;
  /**
   * Repeats work until it succeeds.
   * @throws GatewayError `NOT_LINKED`, `INVALID_REQUEST`: repeating it is pointless; the abort reason
   */
  insist<T>(work: () => Promise<T>): Promise<T>;
}

export function createSubmit({ run, bot, directory, clock, log, onDone }: SubmitSources): Submit {
  const { signal } = run;

  async function insist<T>(work: () => Promise<T>): Promise<T> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (isGatewayError(error) && ["NOT_LINKED", "INVALID_REQUEST"].includes(error.code)) throw error;
        log.warn({ err: error }, "a Mattermost event waits and is submitted again");
        const retryAfterMs = isGatewayError(error) ? error.retryAfterMs : undefined;
        await pause(retryAfterMs ?? pauseMs, clock, signal);
        signal.throwIfAborted();
      }
    }
  }

  async function deliver(message: InboundMessage): Promise<void> {
    const receipt = await untilAborted(run.receive(message), signal);
    if (!receipt.accepted && receipt.reason === "busy") unavailable("too many messages are waiting in the gateway");
  }

  return {
    insist,
    async submit(event) {
      if (isIgnored(event, bot.id)) return;
      try {
        const message = await insist(() => complete(event, bot, directory));
        if (message) await insist(() => deliver(message));
        if (message?.id !== undefined) onDone(message.id);
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") throw error;
        log.warn({ err: error }, "a Mattermost event was skipped");
      }
    },
  };
}

/** @returns `undefined`: the event is from a bot, or concerns a chat or post that is hidden from the bot */
async function complete(event: NetworkEvent, bot: Bot, directory: Directory): Promise<InboundMessage | undefined> {
  if (event.kind === "reaction") {
    const person = await directory.person(event.reaction.user_id);
    const post = await directory.post(event.reaction.post_id);
    const channel = post && (await directory.channel(post.channel_id));
    if (!channel || person?.isBot) return undefined;
    return toInbound(event, { bot, channel, post, senderName: person?.name });
  }
  const { post, channel: told } = event;
  if (told) directory.noteChannel(post.channel_id, told);
  const channel = told ?? (await directory.channel(post.channel_id));
  const person = event.senderName === undefined ? await directory.person(post.user_id) : undefined;
  if (!channel || person?.isBot) return undefined;
  const root = post.root_id ? await directory.post(post.root_id) : undefined;
  const postSenderName = root && (await nameOf(root.user_id));
  return toInbound(event, { bot, channel, senderName: event.senderName ?? person?.name, post: root, postSenderName });

  async function nameOf(userId: string): Promise<string | undefined> {
    return userId === bot.id ? bot.name : (await directory.person(userId))?.name;
  }
}

/** Time of the server at which a post was written or last edited, epoch ms. */
export function timeOf({ create_at: created, edit_at: edited = 0 }: Post): number {
  return Math.max(created, edited);
}

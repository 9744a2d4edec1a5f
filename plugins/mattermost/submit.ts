/** Completes an event with what it only names by id, and submits it until the gateway has it. */
import { repeated, submitted } from "@svc/kit/channels";
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import type { Directory } from "./directory.ts";
import type { NetworkEvent, Post } from "./events.ts";
import { type Bot, isIgnored, toInbound } from "./translate.ts";

export interface SubmitSources {
  readonly run: Pick<ChannelRun<Settings>, "receive" | "signal">;
  readonly bot: Bot;
  readonly directory: Directory;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Logger;
  /** Called with the id of each message that the gateway has, or has refused for good. */
  readonly onDone: (messageId: string) => void;
}

/**
 * Resolves when the message is on disk or was refused for good.
 * @throws GatewayError `NOT_LINKED`; `INVALID_REQUEST`: the server does not say in which chat it was; the abort reason
 */
export type Submit = (event: NetworkEvent) => Promise<void>;

export function createSubmit({ run, bot, directory, clock, log, onDone }: SubmitSources): Submit {
  const sources = { clock, log, signal: run.signal };
  const insist = <T>(work: () => Promise<T>) => repeated(work, sources);

  /** Looks up what a message can do without: if the server refuses to tell, it is unknown. */
  const known = <T>(work: () => Promise<T | undefined>) =>
    insist(work).catch((error: unknown) => {
      if (run.signal.aborted || (isGatewayError(error) && error.code === "NOT_LINKED")) throw error;
      log.warn({ err: error }, "a name is unknown: the Mattermost server refuses to tell it");
      return undefined;
    });
  const person = (id: string) => known(() => directory.person(id));

  /** @returns `undefined`: the event is from a bot, or concerns a chat or post that is hidden from the bot */
  async function complete(event: NetworkEvent): Promise<InboundMessage | undefined> {
    if (event.kind === "reaction") {
      const post = await insist(() => directory.post(event.reaction.post_id));
      const channel = post && (await insist(() => directory.channel(post.channel_id)));
      const sender = channel && (await person(event.reaction.user_id));
      if (!channel || sender?.isBot) return undefined;
      return toInbound(event, { bot, channel, post, senderName: sender?.name });
    }
    const { post, channel: told } = event;
    if (told) directory.noteChannel(post.channel_id, told);
    const channel = told ?? (await insist(() => directory.channel(post.channel_id)));
    if (!channel) return undefined;
    const sender = event.senderName === undefined ? await person(post.user_id) : undefined;
    if (sender?.isBot) return undefined;
    const { root_id: rootId = "" } = post;
    const root = rootId === "" ? undefined : await known(() => directory.post(rootId));
    const rootName = root && (root.user_id === bot.id ? bot.name : (await person(root.user_id))?.name);
    const senderName = event.senderName ?? sender?.name;
    return toInbound(event, { bot, channel, senderName, post: root, postSenderName: rootName });
  }

  return async (event) => {
    if (isIgnored(event, bot.id)) return;
    const message = await complete(event);
    if (!message) return;
    await submitted(run, message, sources);
    if (message.id !== undefined) onDone(message.id);
  };
}

/** Time of the server at which a post was written or last edited, epoch ms. */
export function timeOf({ create_at: created, edit_at: edited = 0 }: Post): number {
  return Math.max(created, edited);
}

/** Calls of the Bot API. The only file that uses the network. */
import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { invalidRequest, lazy } from "@svc/sdk";
import type {
  ChannelCall,
  ChannelPlace,
  MediaRequest,
  MediaSource,
  MenuCommand,
  MessageEdit,
  MessageReaction,
  OutboundMessage,
  SendReceipt,
} from "@svc/sdk/channels";
import type { GrammyError, InputFile, RawApi } from "grammy";
import type { Message, ReactionTypeEmoji, Update, UserFromGetMe, WebhookInfo } from "grammy/types";
import type { Settings } from "./config.ts";
import { descriptionOf, refusalError, unreachable } from "./failures.ts";
import type { Memory } from "./memory.ts";
import { fieldOf, fileNameOf, keyboardOf, menuOf, reactionOf, threadOf } from "./outgoing.ts";
import { chatOf } from "./translate.ts";

/** Kinds of updates; Telegram leaves out reactions unless they are listed. */
const UPDATES = ["message", "edited_message", "callback_query", "message_reaction", "poll_answer"] as const;
/** Seconds a call may take; the gateway gives an attempt 60. */
const CALL_SECONDS = 55;
/** Seconds a call without content may take. */
const SHORT_SECONDS = 10;
/** Milliseconds after which an unused connection is closed: the network may have dropped it silently. */
const IDLE_MS = 30_000;
/** Maximum seconds by which a poll may be late; a poll shorter than this may take twice as long. */
const LATE_SECONDS = 3;
/** Minimum of `open_period`. */
const MIN_OPEN_SECONDS = 5;

const library = lazy(() => import("grammy"));

/** `agent` keeps connections open. Default: a connection per call. */
interface Connections {
  readonly agent?: HttpAgent | undefined;
}
type Bot = Pick<Settings, "token" | "apiRoot"> & Connections;
export type ConnectedSettings = Settings & Connections;
type Place = ChannelCall<ConnectedSettings> & ChannelPlace;
type Work<T> = (raw: RawApi, signal: never) => Promise<T>;

/** Keeps connections open until `release`. */
export const openAgent = (apiRoot: string) => agentOf(apiRoot, { keepAlive: true, timeout: IDLE_MS });

/** Closes the unused connections, and each of the others after its call: a text that is being sent arrives. */
export function release(agent: HttpAgent): void {
  agent.maxFreeSockets = 0;
  for (const unused of Object.values(agent.freeSockets)) for (const socket of unused ?? []) socket.destroy();
}

const agentOf = (apiRoot: string, options: AgentOptions) =>
  apiRoot.startsWith("https:") ? new HttpsAgent(options) : new HttpAgent(options);

/** Runs calls of the library, and converts its errors. @throws GatewayError; the reason of the signal */
async function call<T>(bot: Bot, signal: AbortSignal, work: Work<T>, timeoutSeconds = SHORT_SECONDS): Promise<T> {
  signal.throwIfAborted();
  const { Api, GrammyError, HttpError } = await library();
  const { token, apiRoot, agent = agentOf(apiRoot, {}) } = bot;
  const { raw } = new Api(token, { apiRoot, timeoutSeconds, baseFetchConfig: { agent } });
  try {
    return await work(raw, signal as never); // the library's own type of signal has the same members
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof GrammyError) throw refusalError(error, error.method);
    if (error instanceof HttpError) throw unreachable(error.error);
    throw error;
  }
}

/** As `call`, again with the new id if the group has become a supergroup. */
function inChat<T>(place: Place, work: (chat: string, ...args: Parameters<Work<T>>) => Promise<T>): Promise<T> {
  return call(
    place.settings,
    place.signal,
    (raw, signal) =>
      work(place.to, raw, signal).catch((error: unknown) => {
        const { parameters } = Object(error) as Partial<GrammyError>; // any thrown value
        const id = parameters?.migrate_to_chat_id;
        if (id === undefined) throw error;
        return work(String(id), raw, signal);
      }),
    CALL_SECONDS,
  );
}

export const getMe = (bot: Bot, signal: AbortSignal): Promise<UserFromGetMe> =>
  call(bot, signal, (raw, stop) => raw.getMe(stop));

export const getWebhook = (bot: Bot, signal: AbortSignal, timeoutSeconds?: number): Promise<WebhookInfo> =>
  call(bot, signal, (raw, stop) => raw.getWebhookInfo(stop), timeoutSeconds);

/** As `getWebhook`; proves the connection in place of a poll, and waits no longer than for a late poll. */
export const checkWebhook = (settings: ConnectedSettings, signal: AbortSignal) =>
  getWebhook(settings, signal, lateSeconds(settings));

const lateSeconds = ({ pollSeconds }: Settings) => Math.min(pollSeconds, LATE_SECONDS);

export const deleteWebhook = (bot: Bot, signal: AbortSignal) =>
  call(bot, signal, (raw, stop) => raw.deleteWebhook({}, stop));

export const setMenu = (bot: Bot, commands: readonly MenuCommand[], signal: AbortSignal) =>
  call(bot, signal, (raw, stop) => raw.setMyCommands({ commands: menuOf(commands) }, stop));

/** One connection, so that the messages of a chat arrive in order. */
export const setWebhook = (bot: Bot, { url, secret }: { url: string; secret: string }, signal: AbortSignal) =>
  call(bot, signal, (raw, stop) =>
    raw.setWebhook({ url, secret_token: secret, max_connections: 1, allowed_updates: UPDATES }, stop),
  );

/** @param offset confirms all updates with a lower id; `undefined`: confirms nothing */
export async function getUpdates(settings: ConnectedSettings, offset: number | undefined, signal: AbortSignal) {
  const { pollSeconds: timeout } = settings;
  const args = { timeout, allowed_updates: UPDATES, ...(offset === undefined ? {} : { offset }) };
  return call<Update[]>(settings, signal, (raw, stop) => raw.getUpdates(args, stop), timeout + lateSeconds(settings));
}

export const answerPress = (bot: Bot, id: string, signal: AbortSignal) =>
  call(bot, signal, (raw, stop) => raw.answerCallbackQuery({ callback_query_id: id }, stop));

export async function send(message: OutboundMessage<ConnectedSettings>, memory: Memory): Promise<SendReceipt> {
  const { InputFile } = await library();
  const sent = await inChat(message, (chat, raw, stop) => sendTo(chat, message, InputFile, raw, stop));
  const messageId = String(sent.message_id);
  memory.sent(String(sent.chat.id), messageId);
  if (!sent.poll) return { messageId };
  const threadId = sent.is_topic_message === true ? sent.message_thread_id : undefined;
  memory.sentPoll(sent.poll.id, { chat: chatOf(sent.chat, threadId), options: message.poll?.options ?? [] });
  return { messageId, pollId: sent.poll.id };
}

async function sendTo(
  chat: string,
  message: OutboundMessage<Settings>,
  File: typeof InputFile,
  raw: RawApi,
  stop: never,
): Promise<Message> {
  const { text, media, poll, replyTo, threadId, silent, buttons } = message;
  const common = {
    chat_id: chat,
    ...threadOf(threadId),
    ...keyboardOf(buttons),
    ...(replyTo !== undefined && /^\d{1,15}$/.test(replyTo)
      ? { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } }
      : {}),
    ...(silent === true ? { disable_notification: true } : {}),
  };
  if (poll) {
    const { question, options, maxSelections, seconds, isAnonymous = false } = poll;
    return raw.sendPoll(
      {
        ...common,
        question,
        options: options.map((option) => ({ text: option })),
        allows_multiple_answers: maxSelections > 1,
        is_anonymous: isAnonymous,
        ...(seconds === undefined ? {} : { open_period: Math.max(seconds, MIN_OPEN_SECONDS) }),
      },
      stop,
    );
  }
  if (!media) return raw.sendMessage({ ...common, text, parse_mode: "HTML" }, stop);
  const args = { ...common, ...(text === "" ? {} : { caption: text, parse_mode: "HTML" as const }) };
  const file = () => new File(media.bytes, fileNameOf(media.name));
  const asFile = () => raw.sendDocument({ ...args, document: file() }, stop);
  switch (fieldOf(media)) {
    case "photo":
      return raw.sendPhoto({ ...args, photo: file() }, stop).catch((error: unknown) => {
        if (!/photo_invalid_dimensions|image_process_failed/i.test(descriptionOf(error))) throw error;
        return asFile();
      });
    case "animation":
      return raw.sendAnimation({ ...args, animation: file() }, stop);
    case "voice":
      return raw.sendVoice({ ...args, voice: file() }, stop).catch((error: unknown) => {
        if (!/voice_messages_forbidden/i.test(descriptionOf(error))) throw error;
        return raw.sendAudio({ ...args, audio: file() }, stop);
      });
    case "audio":
      return raw.sendAudio({ ...args, audio: file() }, stop);
    case "video":
      return raw.sendVideo({ ...args, video: file() }, stop);
    default:
      return asFile();
  }
}

export async function edit(change: MessageEdit<ConnectedSettings>): Promise<void> {
  const { text, messageId, buttons } = change;
  await inChat(change, async (chat, raw, stop) => {
    const args = { chat_id: chat, message_id: messageNumber(messageId), ...keyboardOf(buttons) };
    try {
      if (text === "") return void (await raw.editMessageReplyMarkup(args, stop));
      await raw.editMessageText({ ...args, text, parse_mode: "HTML" }, stop).catch((error: unknown) => {
        if (!/there is no text in the message/i.test(descriptionOf(error))) throw error;
        return raw.editMessageCaption({ ...args, caption: text, parse_mode: "HTML" }, stop); // a file
      });
    } catch (error) {
      if (!/message is not modified/i.test(descriptionOf(error))) throw error;
    }
  });
}

export async function react(reaction: MessageReaction<ConnectedSettings>): Promise<void> {
  const { messageId, emoji, remove = false } = reaction;
  const one = { type: "emoji", emoji: reactionOf(emoji) as ReactionTypeEmoji["emoji"] } as const; // Telegram refuses others
  const args = { message_id: messageNumber(messageId), reaction: remove ? [] : [one] };
  await inChat(reaction, (chat, raw, stop) => raw.setMessageReaction({ chat_id: chat, ...args }, stop));
}

export async function typing(place: Place): Promise<void> {
  const args = { action: "typing", ...threadOf(place.threadId, false) } as const;
  await inChat(place, (chat, raw, stop) => raw.sendChatAction({ chat_id: chat, ...args }, stop));
}

/** The address contains the token: Telegram has no other way to download a file. */
export async function media({ settings, ref, signal }: MediaRequest<ConnectedSettings>): Promise<MediaSource> {
  const { file_path: path } = await call(settings, signal, (raw, stop) => raw.getFile({ file_id: ref }, stop));
  if (path === undefined) return invalidRequest("Telegram has no address for this file; ask for the file again");
  return { url: `${settings.apiRoot}/file/bot${settings.token}/${path}` };
}

function messageNumber(id: string): number {
  return /^\d{1,15}$/.test(id) ? Number(id) : invalidRequest(`"${id}" is not the id of a Telegram message`);
}

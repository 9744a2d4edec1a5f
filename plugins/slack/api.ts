/** Slack's Web API. With `socket.ts` the only file that uses the network. */
import type { WebClient } from "@slack/web-api";
import { invalidRequest, lazy, notFound } from "@svc/sdk";
import type { ChannelCall, MediaRequest, MediaSource, MessageEdit, MessageReaction } from "@svc/sdk/channels";
import type { OutboundMedia, OutboundMessage, SendReceipt } from "@svc/sdk/channels";
import { bounded } from "@svc/kit/channels";
import { AnySignal } from "@svc/kit/time";
import type { Settings } from "./config.ts";
import { slackName } from "./emoji.ts";
import { failureOf, refusalCode } from "./failure.ts";
import type { Place } from "./history.ts";
import { QUIET } from "./quiet.ts";
import { blocksOf } from "./text.ts";
import { isPersonId } from "./translate.ts";

/** Milliseconds after which a request fails. */
const REQUEST_MS = 60_000;
/** Milliseconds for a name: Slack repeats a delivery after 3 s. */
const NAME_MS = 1_500;
/** Maximum missed messages of a conversation. */
const MAX_MISSED = 200;
/** Remembered direct chats. */
const MAX_DIRECT = 1_000;

const library = lazy(() => import("@slack/web-api"));

type Call = Pick<ChannelCall<Settings>, "settings" | "signal">;

/** Who a token belongs to. */
export interface Identity {
  readonly userId: string;
  readonly name: string;
  readonly teamId: string;
  readonly team: string;
  /** Absent for the token of a person. */
  readonly botId?: string;
  readonly scopes: readonly string[];
}

/** Options of the client for a run or call. The gateway retries, so that the client must not. */
export function clientOptions(apiUrl: string, signal: AbortSignal, timeout = REQUEST_MS) {
  return {
    slackApiUrl: apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout,
    async fetch(url: string | URL, init: RequestInit = {}) {
      const ending = new AnySignal(signal, init.signal ?? undefined);
      try {
        const response = await fetch(url, { ...init, signal: ending.signal });
        const body = await response.arrayBuffer(); // within the time limit
        const { status, statusText, headers } = response;
        const whole = new Response(status === 204 || status === 304 ? null : body, { status, statusText, headers });
        return Object.defineProperty(whole, "url", { value: response.url });
      } finally {
        ending.release();
      }
    },
  };
}

/**
 * Calls Slack as the bot.
 * @param doing what is done, for errors
 * @throws GatewayError as `failureOf`
 */
async function calling<T>({ settings, signal }: Call, doing: string, work: (client: WebClient) => Promise<T>) {
  return requesting(settings.apiUrl, settings.botToken, signal, doing, work);
}

async function requesting<T>(
  apiUrl: string,
  token: string,
  signal: AbortSignal,
  doing: string,
  work: (client: WebClient) => Promise<T>,
  timeout?: number,
): Promise<T> {
  signal.throwIfAborted();
  const { WebClient: Client } = await library();
  signal.throwIfAborted();
  try {
    return await work(new Client(token, { ...clientOptions(apiUrl, signal, timeout), logger: QUIET }));
  } catch (error) {
    throw failureOf(error, doing);
  }
}

/** @throws GatewayError as `failureOf` */
export async function identify({ settings, signal }: Call): Promise<Identity> {
  const answer = await requesting(settings.apiUrl, settings.botToken, signal, "check the bot token", (client) =>
    client.auth.test(),
  );
  const { user_id: userId = "", user = "", team_id: teamId = "", team = "", bot_id: botId } = answer;
  const scopes = answer.response_metadata?.scopes ?? [];
  return { userId, name: user, teamId, team, ...(botId === undefined ? {} : { botId }), scopes };
}

/** Checks an app token by opening a connection that nobody uses. @throws GatewayError as `failureOf` */
export async function checkAppToken({ settings, signal }: Call): Promise<void> {
  await requesting(settings.apiUrl, settings.appToken, signal, "open a connection with the app token", (client) =>
    client.apps.connections.open({}),
  );
}

/** The name of a person, as Slack shows it. @throws GatewayError as `failureOf` */
export async function nameOf(user: string, { settings, signal }: Call): Promise<string | undefined> {
  const { user: found } = await requesting(
    settings.apiUrl,
    settings.botToken,
    signal,
    "look up a person",
    (client) => client.users.info({ user }),
    NAME_MS,
  );
  const { display_name: shown, real_name: real } = found?.profile ?? {};
  return [shown, real, found?.real_name, found?.name].find((name) => name !== undefined && name !== "");
}

/** Messages of a place after its last one and after `since` (epoch ms), the oldest first. @throws GatewayError as `failureOf` */
export async function missedIn({ channel, thread, ts }: Place, since: number, call: Call) {
  const after = Math.max(Number(ts), since / 1_000);
  const page = { channel, oldest: after.toFixed(6), limit: MAX_MISSED };
  const { messages = [], has_more: isCut = false } = await calling(
    call,
    "read missed messages",
    async ({
      conversations,
    }): Promise<{ readonly messages?: readonly { ts?: string }[]; readonly has_more?: boolean }> =>
      thread === undefined ? conversations.history(page) : conversations.replies({ ...page, ts: thread }),
  );
  // A thread begins with its first message, however old.
  const missed = messages.filter((message) => Number(message.ts) > after);
  return { missed: missed.toSorted((one, other) => Number(one.ts) - Number(other.ts)), isCut };
}

/** Sends messages. Remembers the direct chats of people. */
export function createSender() {
  const direct = bounded<string>(MAX_DIRECT);

  /** The conversation of an address. */
  async function channelOf(to: string, accountId: string, call: Call): Promise<string> {
    if (!isPersonId(to)) return to;
    const key = `${accountId}:${to}`;
    const known = direct.get(key);
    if (known !== undefined) return known;
    const opened = await calling(call, "open the direct chat", (client) => client.conversations.open({ users: to }));
    const id = opened.channel?.id ?? invalidRequest(`Slack has no direct chat with ${to}`);
    direct.set(key, id);
    return id;
  }

  async function send(message: OutboundMessage<Settings>): Promise<SendReceipt> {
    const { to, accountId, threadId, text, media, buttons = [] } = message;
    const channel = await channelOf(to, accountId, message);
    if (media) {
      await upload(message, channel, media);
      if (buttons.length === 0) return {}; // Slack posts the file later, and does not return the id of its message
    }
    const content = { channel, text, ...UNPARSED };
    const sent = await calling(message, "post the message", ({ chat: { postMessage } }) =>
      postMessage({
        ...content,
        ...(threadId === undefined ? {} : { thread_ts: threadId }),
        ...(buttons.length === 0 ? {} : { blocks: blocksOf(text, buttons) }),
      }),
    );
    return sent.ts === undefined ? {} : { messageId: sent.ts };
  }

  async function edit(message: MessageEdit<Settings>): Promise<void> {
    const { to, accountId, messageId: ts, text, buttons = [] } = message;
    const channel = await channelOf(to, accountId, message);
    await calling(message, "change the message", (client) =>
      // Without `blocks` the old buttons could remain.
      client.chat.update({ channel, ts, text, ...UNPARSED, blocks: buttons.length > 0 ? blocksOf(text, buttons) : [] }),
    );
  }

  async function react(reaction: MessageReaction<Settings>): Promise<void> {
    const { to, accountId, messageId: timestamp, emoji, remove = false } = reaction;
    const name = slackName(emoji) ?? invalidRequest(`the name of ${emoji} on Slack is unknown; use a common emoji`);
    const channel = await channelOf(to, accountId, reaction);
    await calling(reaction, remove ? "remove the reaction" : "add the reaction", async ({ reactions }) => {
      try {
        await (remove ? reactions.remove : reactions.add)({ channel, timestamp, name });
      } catch (error) {
        if (refusalCode(error) !== (remove ? "no_reaction" : "already_reacted")) throw error; // a retry of a done call
      }
    });
  }

  return { send, edit, react };
}

/** Plain words must not become mentions; `chat.update` would do that by default. */
const UNPARSED = { parse: "none", link_names: false } as const;

async function upload(message: OutboundMessage<Settings>, channel: string, { bytes, name }: OutboundMedia) {
  const { threadId } = message;
  const place = threadId === undefined ? { channel_id: channel } : { channel_id: channel, thread_ts: threadId };
  await calling(message, "upload the file", (client) =>
    client.filesUploadV2({
      ...place,
      file: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      filename: name,
    }),
  );
}

/** @throws GatewayError as `failureOf`; `NOT_FOUND` for a file that Slack does not store */
export async function fileAddress(request: MediaRequest<Settings>): Promise<MediaSource> {
  const { settings, ref } = request;
  const { file } = await calling(request, "look up the file", (client) => client.files.info({ file: ref }));
  const url = file?.url_private_download ?? file?.url_private;
  if (url === undefined || !isSlack(url, settings.apiUrl)) return notFound("Slack does not store the file itself");
  return { url, headers: { authorization: `Bearer ${settings.botToken}` } };
}

/** Whether the bot token may be sent there: to the host of the Web API, or one below it. */
function isSlack(url: string, apiUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const [file, api] = [new URL(url), new URL(apiUrl)];
  if (file.protocol !== api.protocol) return false;
  return file.host === api.host || file.hostname.endsWith(`.${api.hostname}`);
}

/** Requests to Discord's REST API. With `connection.ts`, the only file that uses the network. */
import type { API } from "@discordjs/core";
import { GatewayError, invalidRequest, lazy, messageOf, notFound } from "@svc/sdk";
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
import type { Settings } from "./config.ts";
import { learnPoll } from "./learn.ts";
import type { Memory } from "./memory.ts";
import { attachmentsOf } from "./messages.ts";
import { ALLOWED_MENTIONS, toCommands, toMessage, toRows, userIn } from "./outgoing.ts";

/** Milliseconds until a request without an answer fails. */
const TIMEOUT_MS = 15_000;
/** View channels, send messages, also in threads, embed links, attach files, read history, add reactions, send polls. */
const PERMISSIONS = "563224831446080";
const HAS_MESSAGE_CONTENT = (1 << 18) | (1 << 19);

/** The next step for the most frequent refusals, by Discord's code. */
const NEXT_STEPS: Readonly<Record<number, string>> = {
  10003: "check the id of the channel, and that the bot is a member of its server",
  10013: "check the id of the user",
  40005: "send a smaller file",
  50001: "give the bot the permission View Channel in this channel",
  50007: "the person must share a server with the bot and allow direct messages from its members",
  50013:
    "give the role of the bot the permissions Send Messages, Send Messages in Threads, Attach Files and Add Reactions",
  160005: "the thread is locked; unlock it, or write to another one",
};
export const TOKEN_REFUSED =
  "Discord refused the token of the bot; create a new one at https://discord.com/developers/applications (Bot > Reset Token) and run: svc channels add discord";
/** Codes of a message of somebody else, and of one in an archived thread. */
const UNCHANGEABLE = new Set([50005, 50083]);

const library = lazy(async () => ({
  rest: await import("@discordjs/rest"),
  core: await import("@discordjs/core"),
}));

/** A client that waits for no rate limit and repeats nothing: the outbox of the gateway does both. */
export async function createApi({ token, apiUrl }: Pick<Settings, "token" | "apiUrl">): Promise<API> {
  const { rest, core } = await library();
  const options = {
    api: apiUrl,
    version: "10",
    retries: 0,
    offset: 0,
    timeout: TIMEOUT_MS,
    rejectOnRateLimit: () => true,
  };
  const client = new rest.REST({ ...options, hashSweepInterval: 0, handlerSweepInterval: 0 });
  return new core.API(client.setToken(token));
}

/** Clients by account: they know the rate limits. */
export function createApis(): (call: Pick<ChannelCall<Settings>, "accountId" | "settings">) => Promise<API> {
  const clients = new Map<string, { readonly key: string; readonly api: Promise<API> }>();
  return ({ accountId, settings }) => {
    const key = `${settings.apiUrl} ${settings.token}`;
    const known = clients.get(accountId);
    if (known?.key === key) return known.api;
    const api = createApi(settings);
    clients.set(accountId, { key, api });
    const forget = () => void (clients.get(accountId)?.api === api && clients.delete(accountId));
    api.then(({ rest }) => {
      // The library drops a refused token; a new client gets the refusal again instead of an error of the library.
      rest.on("response", (_, { status }) => void (status === 401 && forget()));
    }, forget);
    return api;
  };
}

export async function send(message: OutboundMessage<Settings>, api: API, memory: Memory): Promise<SendReceipt> {
  const { signal, poll } = message;
  return asked(signal, async () => {
    const sent = await api.channels.createMessage(await channelOf(message, api, memory), toMessage(message), {
      signal,
    });
    if (!poll) return { messageId: sent.id };
    learnPoll(sent, true, memory);
    return { messageId: sent.id, pollId: sent.id };
  });
}

export async function edit(change: MessageEdit<Settings>, api: API, memory: Memory): Promise<void> {
  const { messageId, text, buttons = [], signal } = change;
  const body = { content: text, allowed_mentions: ALLOWED_MENTIONS, components: toRows(buttons) };
  await changed(signal, async () =>
    api.channels.editMessage(await channelOf(change, api, memory), messageId, body, { signal }),
  );
}

export async function react(reaction: MessageReaction<Settings>, api: API, memory: Memory): Promise<void> {
  const { messageId, emoji, remove = false, signal } = reaction;
  await changed(signal, async () => {
    const channelId = await channelOf(reaction, api, memory);
    if (remove) await api.channels.deleteOwnMessageReaction(channelId, messageId, emoji, { signal });
    else await api.channels.addMessageReaction(channelId, messageId, emoji, { signal });
  });
}

export async function typing(place: ChannelCall<Settings> & ChannelPlace, api: API, memory: Memory): Promise<void> {
  const { signal } = place;
  await asked(signal, async () => api.channels.showTyping(await channelOf(place, api, memory), { signal }));
}

/** Addresses of files expire after a day, so the message is fetched again. */
export async function media({ ref, signal }: MediaRequest<Settings>, api: API): Promise<MediaSource> {
  const [, channelId = "", messageId = "", fileId] = /^(\d+)\/(\d+)\/(\d+)$/.exec(ref) ?? [];
  if (fileId === undefined) invalidRequest(`"${ref}" does not name a file of a message`);
  const message = await changed(signal, () => api.channels.getMessage(channelId, messageId, { signal }));
  const url = attachmentsOf(message).find(({ id }) => id === fileId)?.url;
  return url === undefined ? notFound(`the message no longer has the file ${fileId}`) : { url };
}

/** What people need to know about a bot account. Plain data. */
export interface BotFacts {
  readonly ok: true;
  readonly bot: { readonly id: string; readonly name: string };
  /** Opens Discord's page that adds the bot to a server. */
  readonly inviteUrl: string;
  /** What is missing, and where to change it. */
  readonly hint?: string;
}

export async function probe({ messageContent }: Settings, api: API, signal: AbortSignal): Promise<BotFacts> {
  return asked(signal, async () => {
    const { id, name, bot, flags } = await api.oauth2.getCurrentBotApplicationInformation({ signal });
    const isMissing = messageContent && (flags & HAS_MESSAGE_CONTENT) === 0;
    return {
      ok: true,
      bot: { id: bot?.id ?? id, name: bot?.username ?? name },
      inviteUrl: `https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&permissions=${PERMISSIONS}`,
      ...(isMissing ? { hint: intentHint(id) } : {}),
    };
  });
}

/** Replaces the commands of the bot: Discord limits only how many new ones it gets in a day. Without commands, those of another program stay. */
export async function registerCommands(
  commands: readonly MenuCommand[],
  applicationId: string,
  api: API,
  signal: AbortSignal,
): Promise<void> {
  if (commands.length === 0) return;
  await asked(signal, () =>
    api.applicationCommands.bulkOverwriteGlobalCommands(applicationId, toCommands(commands), { signal }),
  );
}

/** @param applicationId default: unknown */
export function intentHint(applicationId?: string): string {
  const page = applicationId === undefined ? "" : `/${applicationId}/bot`;
  return `the bot may not read messages: switch on "Message Content Intent" at https://discord.com/developers/applications${page} (Bot > Privileged Gateway Intents), or set messageContent to false`;
}

/** The channel of a place. A direct message needs a request, whose result is remembered. */
async function channelOf({ to, threadId, signal }: ChannelPlace & { signal: AbortSignal }, api: API, memory: Memory) {
  if (threadId !== undefined) return threadId;
  const userId = userIn(to);
  if (userId === undefined) return to;
  const known = memory.directs.get(userId);
  if (known !== undefined) return known;
  const { id } = await api.users.createDM(userId, { signal });
  memory.directs.set(userId, id);
  return id;
}

/** Runs requests. @throws GatewayError instead of errors of the library, which have the request in them */
export async function asked<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await request();
  } catch (error) {
    signal.throwIfAborted();
    throw toGatewayError(error);
  }
}

/** Runs requests about an existing message. @throws as `asked`; `NOT_FOUND`: it is gone or cannot be changed */
function changed<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  return asked(signal, async () => {
    try {
      return await request();
    } catch (error) {
      if (statusOf(error) === 404 || UNCHANGEABLE.has(codeOf(error))) notFound(`Discord: ${wordsOf(error)}`);
      throw error;
    }
  });
}

export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const { name, retryAfter, timeToReset } = Object(error) as Partial<
    Record<"name" | "retryAfter" | "timeToReset", unknown>
  >;
  if (String(name).startsWith("RateLimitError")) {
    const retryAfterMs = Math.max(0, Number(retryAfter) || Number(timeToReset) || 0);
    return new GatewayError("UNAVAILABLE", "Discord limits the rate of requests", { retryAfterMs });
  }
  const status = statusOf(error);
  if (status === undefined) {
    const why = name === "AbortError" ? `no answer within ${TIMEOUT_MS / 1_000} seconds` : messageOf(error);
    return new GatewayError("UNAVAILABLE", `Discord cannot be reached: ${why}`);
  }
  if (status >= 500) return new GatewayError("UNAVAILABLE", `Discord failed with status ${status}`);
  if (status === 401) return new GatewayError("NOT_LINKED", TOKEN_REFUSED);
  const step = NEXT_STEPS[codeOf(error)];
  return new GatewayError(
    "INVALID_REQUEST",
    `Discord refused it: ${wordsOf(error)}${step === undefined ? "" : `; ${step}`}`,
  );
}

/** HTTP status of an error of the library. */
function statusOf(error: unknown): number | undefined {
  const { status } = Object(error) as { readonly status?: unknown };
  return typeof status === "number" ? status : undefined;
}

/** Discord's code; 0: none. */
function codeOf(error: unknown): number {
  return Number((Object(error) as { readonly code?: unknown }).code) || 0;
}

const wordsOf = (error: unknown) => `${messageOf(error)} (${codeOf(error) || statusOf(error)})`;

/** Sends, edits, reactions and typing, with the settings of each call. */
import { bounded } from "@svc/kit/channels";
import { type Clock, GatewayError, invalidRequest, isGatewayError, notFound } from "@svc/sdk";
import type {
  ChannelCall,
  ChannelPlace,
  MediaRequest,
  MediaSource,
  MessageEdit,
  MessageReaction,
  OutboundMedia,
  OutboundMessage,
  SendReceipt,
} from "@svc/sdk/channels";
import { ask, identify, refusalOf, type RequestContext } from "./api.ts";
import { attachmentsOf } from "./buttons.ts";
import type { Settings } from "./config.ts";
import { emojiName } from "./emoji.ts";
import { isId } from "./events.ts";
import { type Bot, withoutMassMentions } from "./translate.ts";

/** Maximum number of remembered accounts and of direct chats. */
const MAX_ACCOUNTS = 50;
const MAX_CHATS = 500;
/** Milliseconds for which a username is known to be the same person: people can rename themselves. */
const NAME_MS = 5 * 60 * 1_000;

export interface Outgoing {
  send(message: OutboundMessage<Settings>): Promise<SendReceipt>;
  edit(edit: MessageEdit<Settings>): Promise<void>;
  react(reaction: MessageReaction<Settings>): Promise<void>;
  typing(place: ChannelCall<Settings> & ChannelPlace): Promise<void>;
  media(request: MediaRequest<Settings>): Promise<MediaSource>;
}

export function createOutgoing({ clock }: { readonly clock: Clock }): Outgoing {
  const bots = bounded<Bot>(MAX_ACCOUNTS);
  const directChats = bounded<{ readonly channelId: string; readonly until: number }>(MAX_CHATS);

  async function botOf({ baseUrl, botToken }: Settings, request: RequestContext): Promise<Bot> {
    const key = `${baseUrl} ${botToken}`;
    const known = bots.get(key);
    if (known) return known;
    const { bot } = await identify({ baseUrl, botToken }, request);
    bots.set(key, bot);
    return bot;
  }

  /** @param to channel id, `user:<id>` or `@username` */
  async function channelIdOf(to: string, settings: Settings, request: RequestContext): Promise<string> {
    if (isId(to)) return to;
    const bot = await botOf(settings, request);
    const key = `${settings.baseUrl} ${bot.id} ${to}`;
    const known = directChats.get(key);
    if (known && known.until > clock.now()) return known.channelId;
    const userId = to.startsWith("@")
      ? (await ask(settings, request, (client) => client.getUserByUsername(to.slice(1)))).id
      : to.replace(/^user:/, "");
    const { id } = await ask(settings, request, (client) => client.createDirectChannel([bot.id, userId]));
    directChats.set(key, { channelId: id, until: to.startsWith("@") ? clock.now() + NAME_MS : Infinity });
    return id;
  }

  return {
    async send({ accountId, settings, signal, id, to, threadId, text, media, buttons = [] }) {
      const request = { clock, signal };
      try {
        const bot = await botOf(settings, request);
        const channelId = await channelIdOf(to, settings, request);
        const fileIds = media ? await upload(media, channelId, settings, request) : undefined;
        const attachments = attachmentsOf(buttons, { accountId, channelId, settings });
        const post = await ask(settings, request, (client) =>
          client.createPost({
            channel_id: channelId,
            message: withoutMassMentions(text),
            pending_post_id: `${bot.id}:${id}`,
            ...(threadId === undefined ? {} : { root_id: threadId }),
            ...(fileIds ? { file_ids: fileIds } : {}),
            ...(attachments.length > 0 ? { props: { attachments } } : {}),
          }),
        );
        return { messageId: post.id };
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "NOT_FOUND") throw error;
        return invalidRequest(`cannot send to ${to}: ${error.message}`, error.details);
      }
    },

    async edit({ accountId, settings, signal, to, messageId, text, buttons = [] }) {
      const request = { clock, signal };
      const channelId = await channelIdOf(to, settings, request);
      const attachments = attachmentsOf(buttons, { accountId, channelId, settings });
      // Servers before version 11 forget that a bot wrote the post when its properties change.
      const { isBot } = await botOf(settings, request);
      const props = { attachments, ...(isBot ? { from_bot: "true" } : {}) };
      try {
        await ask(settings, request, (client) =>
          client.patchPost({
            id: messageId,
            message: withoutMassMentions(text),
            ...(settings.callbackUrl === undefined ? {} : { props }),
          }),
        );
      } catch (error) {
        throw isUnchangeable(error)
          ? new GatewayError("NOT_FOUND", `the message is gone or can no longer be changed: ${error.message}`)
          : error;
      }
    },

    async react({ settings, signal, messageId, emoji, remove = false }) {
      const name =
        emojiName(emoji) ?? invalidRequest(`Mattermost has no known name for ${emoji}; write a name, e.g. :eyes:`);
      const request = { clock, signal };
      const { id } = await botOf(settings, request);
      await ask<unknown>(settings, request, (client) =>
        remove ? client.removeReaction(id, messageId, name) : client.addReaction(id, messageId, name),
      );
    },

    async typing({ settings, signal, to, threadId = "" }) {
      const request = { clock, signal };
      const body = JSON.stringify({ channel_id: await channelIdOf(to, settings, request), parent_id: threadId });
      await ask(settings, request, (_client, raw) => raw("/users/me/typing", { method: "post", body }));
    },

    async media({ settings, ref }) {
      if (!isId(ref)) notFound(`"${ref}" is not the id of a file on Mattermost`);
      const headers = { authorization: `Bearer ${settings.botToken}` };
      return { url: `${settings.baseUrl}/api/v4/files/${ref}`, headers };
    },
  };
}

async function upload(
  { bytes, name, mimeType }: OutboundMedia,
  channelId: string,
  settings: Settings,
  request: RequestContext,
): Promise<string[]> {
  const form = new FormData();
  form.set("channel_id", channelId);
  form.set("files", new Blob([bytes], { type: mimeType }), name);
  const answer = await ask(settings, request, (client) => client.uploadFile(form));
  const ids = answer.file_infos.map(({ id }) => id);
  return ids.length > 0 ? ids : invalidRequest(`Mattermost did not store the file "${name}"`);
}

/**
 * The server answers 403 for an unknown post and 400 for a deleted one, or one that is too old to be edited.
 */
function isUnchangeable(error: unknown): error is GatewayError {
  if (!isGatewayError(error)) return false;
  const { status, id } = refusalOf(error);
  return status === 403 || status === 404 || id?.startsWith("api.post.update_post.permissions") === true;
}

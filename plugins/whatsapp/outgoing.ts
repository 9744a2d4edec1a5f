/** Messages, reactions, read marks, typing and files, with the settings of each call. */
import { bounded, unlinked } from "@svc/kit/channels";
import { megabytes } from "@svc/kit/time";
import { invalidRequest, isGatewayError, matches, notFound, Type } from "@svc/sdk";
import type { Channel, ChannelCall, OutboundMedia, OutboundMessage } from "@svc/sdk/channels";
import { ask, type RequestContext } from "./api.ts";
import type { Settings } from "./config.ts";
import { fileBodies, recipient, textBodies, uploadOf } from "./messages.ts";

const MEDIA_ID = /^[\w-]{1,200}$/;

const Sent = Type.Object({ messages: Type.Array(Type.Object({ id: Type.String({ minLength: 1 }) }), { minItems: 1 }) });
const Uploaded = Type.Object({ id: Type.String({ minLength: 1 }) });
const Stored = Type.Object({ url: Type.String(), file_size: Type.Optional(Type.Unknown()) });
const Gone = Type.Object({ code: Type.Literal(100) });

type Call = Pick<ChannelCall<Settings>, "settings" | "signal">;

export interface Outgoing extends Required<Pick<Channel<Settings>, "send" | "react" | "typing" | "media">> {
  /** Remembers the last message of a chat. */
  note(accountId: string, chatId: string, messageId: string): void;
  /** Shows the sender that the message was read. */
  markRead(call: Call, messageId: string): Promise<unknown>;
}

export function createOutgoing(clock: RequestContext["clock"]): Outgoing {
  /** Ids of messages, by account and chat. */
  const last = bounded<string>(2_000);
  /** Ids of sent parts, by message and index: a retry sends only the rest. */
  const sentParts = bounded<string>(500);

  const post = ({ settings, signal }: Call, json: object) =>
    ask(settings, { clock, signal }, `${settings.phoneNumberId}/messages`, { json });
  const read = (messageId: string) => ({ messaging_product: "whatsapp", status: "read", message_id: messageId });

  async function upload({ bytes, name }: OutboundMedia, mimeType: string, { settings, signal }: Call): Promise<string> {
    const form = new FormData();
    form.set("messaging_product", "whatsapp");
    form.set("type", mimeType);
    form.set("file", new Blob([bytes], { type: mimeType }), name);
    const answer = await ask(settings, { clock, signal }, `${settings.phoneNumberId}/media`, { form });
    if (!matches(Uploaded, answer)) return invalidRequest("WhatsApp did not store the file; next: check graphUrl");
    return answer.id;
  }

  async function bodiesOf(message: OutboundMessage<Settings>) {
    const { media, buttons = [] } = message;
    const text = unlinked(message.text);
    if (!media) return textBodies(text, buttons.flat());
    const shown = uploadOf(media);
    const id = await upload(media, shown.mimeType, message);
    return [...fileBodies(id, shown, media.name, text), ...textBodies("", buttons.flat())];
  }

  return {
    async send(message) {
      const { id, to, replyTo } = message;
      let messageId: string | undefined;
      for (const [index, body] of (await bodiesOf(message)).entries()) {
        const part = `${id} ${index}`;
        messageId = sentParts.get(part);
        if (messageId !== undefined) continue;
        const quote = replyTo !== undefined && index === 0 ? { context: { message_id: replyTo } } : {};
        const answer = await post(message, { ...recipient(to), ...quote, ...body });
        messageId = matches(Sent, answer) ? answer.messages[0]?.id : undefined;
        if (messageId === undefined) invalidRequest("WhatsApp did not name the sent message; next: check graphUrl");
        sentParts.set(part, messageId);
      }
      return messageId === undefined ? invalidRequest("the message is empty; next: write a text") : { messageId };
    },

    async react({ to, messageId, emoji, remove = false, ...call }) {
      const reaction = { message_id: messageId, emoji: remove ? "" : emoji };
      await post(call, { ...recipient(to), type: "reaction", reaction });
    },

    async typing({ accountId, to, ...call }) {
      const messageId = last.get(`${accountId} ${to}`);
      // The same request marks the message as read.
      if (messageId === undefined || !call.settings.sendReadReceipts) return;
      await post(call, { ...read(messageId), typing_indicator: { type: "text" } });
    },

    async media({ settings, signal, ref, maxBytes }) {
      if (!MEDIA_ID.test(ref)) return notFound("this is not the id of a file on WhatsApp");
      const query = { phone_number_id: settings.phoneNumberId };
      const answer = await ask(settings, { clock, signal }, ref, { query }).catch((error: unknown) => {
        const isGone = isGatewayError(error) && matches(Gone, error.details);
        return isGone ? notFound("WhatsApp does not have the file any more") : Promise.reject(error);
      });
      if (!matches(Stored, answer)) return notFound("WhatsApp does not name the address of the file");
      const [url, size] = [answer.url, Number(answer.file_size ?? 0)];
      if (size > maxBytes) invalidRequest(`it has ${megabytes(size)}, at most ${megabytes(maxBytes)} are accepted`);
      if (settings.graphUrl.startsWith("https:") && !url.startsWith("https:"))
        return notFound("WhatsApp names an address without TLS, which must not get the token");
      return { url, headers: { authorization: `Bearer ${settings.accessToken}` } };
    },

    note: (accountId, chatId, messageId) => last.set(`${accountId} ${chatId}`, messageId),
    markRead: (call, messageId) => post(call, read(messageId)),
  };
}

/** Sends, edits, reactions, typing and files, with the settings of each call. */
import { type Clock, invalidRequest, notFound, Type } from "@svc/sdk";
import type { Channel, ChannelCall, ChannelPlace, OutboundMedia } from "@svc/sdk/channels";
import { ACCOUNT, type Settings } from "./config.ts";
import type { Daemons } from "./daemon.ts";
import { rpcCodeOf } from "./refusals.ts";
import { ask } from "./rpc.ts";
import type { Memory } from "./run.ts";
import { styled } from "./styles.ts";
import { idOf } from "./translate.ts";

/** Milliseconds for a message: Signal's server gets its files meanwhile. */
const SEND_MS = 55_000;
/** Signal's apps accept so many edits of a message. */
const MAX_EDITS = 10;
const GROUP = "group:";

const Sent = Type.Object({ timestamp: Type.Integer() });
const File = Type.Object({ data: Type.String() });

interface OutgoingSources {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly daemons: Pick<Daemons, "urlOf">;
  readonly memory: Memory;
}

type Outgoing = Required<Pick<Channel<Settings>, "send" | "edit" | "react" | "typing" | "media">>;

export function createOutgoing({ clock, daemons, memory }: OutgoingSources): Outgoing {
  function requestOf({ settings, signal }: ChannelCall<Settings>) {
    signal.throwIfAborted();
    return { url: daemons.urlOf(settings), clock, signal };
  }

  function quoteOf(replyTo = ""): object {
    const target = partsOf(replyTo);
    if (!target) return {};
    const quoteMessage = memory.messages.get(replyTo)?.text ?? "";
    return { quoteTimestamp: target.timestamp, quoteAuthor: target.author, quoteMessage };
  }

  /** @returns id of the message or edit */
  async function post(call: ChannelCall<Settings> & ChannelPlace, html: string, more: object) {
    const { text, styles } = styled(html);
    const { account } = call.settings;
    const style = styles.length === 0 ? {} : { textStyle: styles };
    const params = { account, ...recipientOf(call.to), ...(text === "" ? {} : { message: text }), ...style, ...more };
    const { timestamp } = await ask({ ...requestOf(call), ms: SEND_MS }, "send", params, Sent);
    return { id: idOf(timestamp, account), text };
  }

  return {
    async send(message) {
      const quote = quoteOf(message.replyTo);
      const files = message.media ? attached(message.media) : {};
      const { id, text } = await post(message, message.text, { ...quote, ...files });
      memory.messages.set(id, { text, quote });
      return { messageId: id };
    },

    async edit(edit) {
      const { messageId, settings } = edit;
      const target = partsOf(messageId);
      if (target?.author !== settings.account) return notFound("this is not a message of the account");
      const { quote = {}, edits = 0 } = memory.messages.get(messageId) ?? {};
      if (edits >= MAX_EDITS) notFound(`the message can no longer be changed: it has ${MAX_EDITS} edits`);
      const { id, text } = await post(edit, edit.text, { ...quote, editTimestamp: target.timestamp });
      memory.messages.set(messageId, { text, quote, edits: edits + 1 });
      memory.originals.set(id, messageId);
    },

    async react(reaction) {
      const { messageId, emoji, remove = false, to, settings } = reaction;
      const target = partsOf(messageId) ?? notFound("this is not the id of a message on Signal");
      const { timestamp: targetTimestamp, author: targetAuthor } = target;
      const params = { account: settings.account, ...recipientOf(to), emoji, targetAuthor, targetTimestamp, remove };
      await ask(requestOf(reaction), "sendReaction", params, Type.Unknown());
    },

    async typing(place) {
      const params = { account: place.settings.account, ...recipientOf(place.to) };
      await ask(requestOf(place), "sendTyping", params, Type.Unknown());
    },

    async media(wanted) {
      const { ref, maxBytes, settings } = wanted;
      const [, kind, place = "", id = ""] = /^(file|sticker) (\S+) (\S+)$/.exec(ref) ?? [];
      if (kind === undefined) return notFound("this is not the name of a file on Signal");
      const request = { ...requestOf(wanted), ms: SEND_MS, maxBytes: Math.ceil(maxBytes / 3) * 4 + 1_000 }; // base64
      const owner = place.startsWith(GROUP) ? { groupId: place.slice(GROUP.length) } : { recipient: place };
      const params = kind === "file" ? { id, ...owner } : { packId: place, stickerId: Number(id) };
      const method = kind === "file" ? "getAttachment" : "getSticker";
      const { data } = await ask(request, method, { account: settings.account, ...params }, File).catch(
        (error: unknown) => {
          if ([-1, -32603].some((code) => code === rpcCodeOf(error))) notFound("signal-cli no longer has the file");
          throw error;
        },
      );
      const bytes = Buffer.from(data, "base64");
      return bytes.byteLength > maxBytes ? invalidRequest("the file is too large") : { bytes };
    },
  };
}

/** The address that a person means; the result is an address, too. */
export function addressOf(text: string): string | undefined {
  const address = text.trim().replace(/^signal:/i, "");
  const account = address.replace(/[\s().]|(?<=\+.*)-/g, "").toLowerCase();
  if (ACCOUNT.test(account)) return account;
  if (/^group:[A-Za-z0-9+/_-]{20,}={0,2}$/.test(address)) return address;
  const [, username] = /^(?:username|u):([A-Za-z_]\w{2,31}\.\d{2,})$/i.exec(address) ?? [];
  return username === undefined ? undefined : `u:${username}`;
}

export const chatTypeOf = (to: string) => (to.startsWith(GROUP) ? "group" : "direct");

function recipientOf(to: string): object {
  return to.startsWith(GROUP) ? { groupId: to.slice(GROUP.length) } : { recipient: [to] };
}

function partsOf(id: string): { readonly timestamp: number; readonly author: string } | undefined {
  const [, timestamp = "", author] = /^(\d{1,15}):(\S+)$/.exec(id) ?? [];
  return author === undefined ? undefined : { timestamp: Number(timestamp), author };
}

function attached({ bytes, name, mimeType, isVoice = false }: OutboundMedia): object {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  const attachments = [`data:${mimeType};filename=${encodeURIComponent(name)};base64,${content}`];
  return { attachments, ...(isVoice ? { voiceNote: true } : {}) };
}

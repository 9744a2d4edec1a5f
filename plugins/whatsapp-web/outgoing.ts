/** Messages, edits, reactions, polls, typing and files, through the connection of the account. */
import { unlinked } from "@svc/kit/channels";
import { megabytes, withDeadline } from "@svc/kit/time";
import {
  type Clock,
  GatewayError,
  invalidRequest,
  isGatewayError,
  notFound,
  unavailable,
  untilAborted,
} from "@svc/sdk";
import type { ChannelCall, ChannelTransport, OutboundMedia, OutboundMessage } from "@svc/sdk/channels";
import type { AnyMessageContent, BinaryNode, MiscMessageGenerationOptions, WAMessage } from "@whiskeysockets/baileys";
import { jidOf } from "./address.ts";
import { type Library, SILENT } from "./library.ts";
import type { Live } from "./run.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./store.ts";
import { fileOf } from "./translate.ts";

/** Milliseconds within which WhatsApp must confirm a message. */
const ACK_MS = 20_000;
/** Milliseconds within which the phone of a sender must upload a file again. */
const PHONE_MS = 15_000;
const RESTRICTED = "463";
const RESTRICTION = "WhatsApp does not let this number write to new people now; next: wait some days";
const WHATSAPP_HOST = /(?:^|\.)whatsapp\.net$/;
/** What WhatsApp answers for a file that it has deleted; the phone of the sender can upload it again. */
const GONE = new Set([404, 410]);

export interface OutgoingContext {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly library: Library;
  readonly store: Store;
  readonly live: ReadonlyMap<string, Live>;
}

type Call = Pick<ChannelCall<Settings>, "accountId" | "settings" | "signal">;
type Outgoing = Required<Pick<ChannelTransport<Settings>, "send" | "edit" | "react" | "typing" | "media">>;

export function createOutgoing(context: () => Promise<OutgoingContext>): Outgoing {
  return {
    async send(message) {
      const scene = await context();
      const { id, to, replyTo, poll } = message;
      const found = replyTo === undefined ? undefined : await scene.store.find(message.accountId, replyTo);
      const contents = contentsOf(message);
      let messageId = "";
      for (const [index, content] of contents.entries()) {
        messageId = idOf(id, index);
        const quoted = index === 0 && found ? { quoted: found.message } : {};
        const relay = poll ? { additionalNodes: [{ tag: "meta", attrs: { polltype: "creation" } }] } : {};
        await sent(message, { id: messageId, jid: jidOf(to), content, quoted, relay }, scene);
      }
      if (messageId === "") return invalidRequest("the message is empty; next: write a text");
      return { messageId, ...(poll ? { pollId: messageId } : {}) };
    },

    async edit({ to, messageId, text, ...call }) {
      const scene = await context();
      const { key } = await known(call, messageId, scene);
      if (key.fromMe !== true) notFound("WhatsApp lets nobody change the message of somebody else");
      const content = { text: unlinked(text), edit: key, linkPreview: null };
      const id = scene.library.generateMessageIDV2();
      await sent(call, { id, jid: jidOf(to), content, relay: { additionalAttributes: { edit: "1" } } }, scene);
    },

    async react({ to, messageId, emoji, remove = false, ...call }) {
      const scene = await context();
      const { key } = await known(call, messageId, scene);
      const id = scene.library.generateMessageIDV2();
      await sent(call, { id, jid: jidOf(to), content: { react: { text: remove ? "" : emoji, key } } }, scene);
    },

    async typing({ accountId, to }) {
      const { live } = await context();
      await live.get(accountId)?.socket.client.sendPresenceUpdate("composing", jidOf(to));
    },

    async media({ ref, maxBytes, ...call }) {
      const scene = await context();
      const message = await known(call, ref, scene);
      try {
        return await download(message, maxBytes, call, scene);
      } catch (error) {
        if (!GONE.has(statusOf(error) ?? 0)) return failed(error);
        const again = await uploadedAgain(message, call, scene).catch(() => undefined);
        if (!again) notFound("WhatsApp does not have the file any more");
        return download(again, maxBytes, call, scene).catch(failed);
      }
    },
  };
}

/** @throws always: network errors of a download as `UNAVAILABLE` */
function failed(error: unknown): never {
  if (isGatewayError(error)) throw error;
  return unavailable(`WhatsApp did not send the file (${statusOf(error) ?? "no answer"})`);
}

/** Asks the phone of the sender. @throws if it does not answer in time, or does not have the file either */
async function uploadedAgain(message: WAMessage, call: Call, scene: OutgoingContext): Promise<WAMessage> {
  const { client } = connected(call, scene).socket;
  const late = () => "the phone of the sender does not answer";
  const deadline = { ms: PHONE_MS, clock: scene.clock, signals: [call.signal], late };
  return withDeadline(deadline, (signal) => untilAborted(client.updateMediaMessage(message), signal));
}

function connected({ accountId }: Pick<Call, "accountId">, { live }: OutgoingContext): Live {
  return live.get(accountId) ?? unavailable("the account is not connected to WhatsApp now");
}

async function known(
  { accountId }: Pick<Call, "accountId">,
  id: string,
  { store }: OutgoingContext,
): Promise<WAMessage> {
  return (await store.find(accountId, id))?.message ?? notFound("the gateway does not know this message any more");
}

/** Ids of WhatsApp are hexadecimal; the same for each attempt, so that a phone shows a repeated message once. */
function idOf(id: string, index: number): string {
  return `3EB0${id.slice(-16)}${index.toString(16).padStart(2, "0")}`.toUpperCase();
}

/** A message and what follows it: audio has no caption. */
function contentsOf({ text: given, media, poll, replyTo: _quoted }: OutboundMessage<Settings>): AnyMessageContent[] {
  if (poll) return [{ poll: { name: poll.question, values: [...poll.options], selectableCount: poll.maxSelections } }];
  const text = unlinked(given);
  const words = text === "" ? [] : [{ text, linkPreview: null }]; // a preview would fetch what the text names
  if (!media) return words;
  return media.kind === "audio" ? [fileContent(media, ""), ...words] : [fileContent(media, text)];
}

function fileContent({ kind, bytes, name, mimeType, isVoice = false }: OutboundMedia, text: string): AnyMessageContent {
  const file = Buffer.from(bytes);
  const caption = text === "" ? {} : { caption: text };
  if (kind === "image") return { image: file, mimetype: mimeType, ...caption };
  if (kind === "video") return { video: file, mimetype: mimeType, ...caption };
  if (kind === "audio") return { audio: file, mimetype: isVoice ? "audio/ogg; codecs=opus" : mimeType, ptt: isVoice };
  return { document: file, mimetype: mimeType, fileName: name, ...caption };
}

interface Parcel {
  readonly id: string;
  readonly jid: string;
  readonly content: AnyMessageContent;
  readonly quoted?: Pick<MiscMessageGenerationOptions, "quoted">;
  readonly relay?: { readonly additionalAttributes?: Record<string, string>; readonly additionalNodes?: BinaryNode[] };
}

/** Stores the message, hands it to WhatsApp, and waits until WhatsApp has it. */
async function sent(
  call: Call,
  { id, jid, content, quoted = {}, relay = {} }: Parcel,
  scene: OutgoingContext,
): Promise<void> {
  const { accountId, signal } = call;
  const { library, store } = scene;
  const { socket, lifetimes } = connected(call, scene);
  const { client } = socket;
  signal.throwIfAborted();
  const earlier = await store.find(accountId, id);
  const expiration = lifetimes.get(jid);
  const message =
    earlier?.message ??
    (await library.generateWAMessage(jid, content, {
      userJid: client.user?.id ?? "",
      upload: client.waUploadToServer,
      logger: SILENT,
      messageId: id,
      ...(expiration === undefined ? {} : { ephemeralExpiration: expiration }),
      ...quoted,
    }));
  signal.throwIfAborted();
  if (!earlier) await store.add(accountId, message, false);
  const confirmed = acknowledged(id, call, scene);
  confirmed.catch(() => undefined);
  await client.relayMessage(jid, message.message ?? {}, { messageId: id, ...relay }).catch(explain);
  await untilAborted(confirmed, signal);
}

/** @throws GatewayError `UNAVAILABLE`: no answer; `INVALID_REQUEST`: WhatsApp refuses the message */
function acknowledged(id: string, call: Call, scene: OutgoingContext): Promise<void> {
  const { ws } = connected(call, scene).socket.client;
  return new Promise((resolve, reject) => {
    const event = `CB:ack,id:${id}`;
    const settle = (error?: GatewayError) => {
      cancel();
      ws.off(event, onAck);
      ws.off("error", onEnd);
      if (error) reject(error);
      else resolve();
    };
    const refused = (text: string) => settle(new GatewayError("UNAVAILABLE", text));
    const onEnd = () => refused("the connection to WhatsApp ended before the message was confirmed");
    const onAck = ({ attrs: { error } }: BinaryNode) => {
      if (error === undefined) settle();
      else if (error === RESTRICTED) settle(new GatewayError("INVALID_REQUEST", RESTRICTION));
      else refused(`WhatsApp refused the message (${error})`);
    };
    const cancel = scene.clock.setTimeout(() => refused("WhatsApp has not confirmed the message"), ACK_MS);
    ws.once(event, onAck);
    ws.once("error", onEnd); // `openSocket` emits it when the connection has ended
  });
}

function explain(error: unknown): never {
  return unavailable(`WhatsApp did not take the message (${statusOf(error) ?? "no status"})`);
}

function statusOf(error: unknown): number | undefined {
  const { output } = Object(error) as { readonly output?: { readonly statusCode?: number } }; // errors of the library
  return output?.statusCode;
}

async function download(message: WAMessage, maxBytes: number, { settings }: Call, { library }: OutgoingContext) {
  const found = fileOf(library.normalizeMessageContent(message.message) ?? {});
  if (!found) return notFound("the message has no file");
  const { type, file } = found;
  const { mediaKey, directPath, url } = file;
  if (!mediaKey) return notFound("the file has no key");
  // The sender names the address: only servers of WhatsApp are asked.
  const place = { mediaKey, ...(directPath ? { directPath } : {}), ...(isTrusted(url, settings) ? { url } : {}) };
  if (!place.directPath && !place.url) return notFound("the file is not on a server of WhatsApp");
  const parts: Buffer[] = [];
  let size = 0;
  const stream = await library.downloadContentFromMessage(place, type);
  for await (const part of stream as AsyncIterable<Buffer>) {
    size += part.byteLength;
    if (size > maxBytes) {
      stream.destroy();
      invalidRequest(`it has more than ${megabytes(maxBytes)}, which is the limit`);
    }
    parts.push(part);
  }
  return { bytes: Buffer.concat(parts), ...(file.mimetype ? { mimeType: file.mimetype } : {}) };
}

function isTrusted(url: string | null | undefined, { webUrl }: Settings): url is string {
  if (!url || !URL.canParse(url)) return false;
  const { hostname, protocol } = new URL(url);
  return protocol === "https:" && (WHATSAPP_HOST.test(hostname) || hostname === new URL(webUrl).hostname);
}

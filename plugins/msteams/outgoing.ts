/** Sends, edits, typing and files, with the settings of each call. */
import { type Clock, GatewayError, invalidRequest, isGatewayError, matches, notFound, Type } from "@svc/sdk";
import type {
  ChannelCall,
  ChannelPlace,
  MediaBytes,
  MediaRequest,
  MediaSource,
  MessageEdit,
  OutboundMessage,
  SendReceipt,
} from "@svc/sdk/channels";
import type { Book, Place } from "./book.ts";
import { type Attachment, buttonCard, consentCard, inlinePicture, pollCard, teamsHtml } from "./cards.ts";
import { isWithin, type Settings, trimmed } from "./config.ts";
import { type Answer, ask } from "./http.ts";
import type { TokenOf } from "./tokens.ts";
import type { Waiting } from "./waiting.ts";

const MAX_PICTURE_BYTES = 1_000_000;
const PICTURES = ["image/png", "image/jpeg", "image/gif"];
const Sent = Type.Object({ id: Type.String() });
const Refusal = Type.Object({ error: Type.Object({ code: Type.String(), message: Type.Optional(Type.String()) }) });

type To = ChannelCall<Settings> & ChannelPlace;

export interface OutgoingSources {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly tokenOf: TokenOf;
  readonly bookOf: (accountId: string, settings: Settings) => Promise<Book>;
  readonly waiting: Waiting;
}

export function createOutgoing({ clock, tokenOf, bookOf, waiting }: OutgoingSources) {
  async function placeOf({ accountId, settings, to }: To): Promise<Place> {
    const place = (await bookOf(accountId, settings)).place(to);
    if (!place)
      return invalidRequest(
        `the bot does not know ${to}; next: the person writes to the bot, or somebody adds it to the conversation and mentions it`,
      );
    if (isWithin(place.serviceUrl, settings.serviceUrls)) return place;
    return invalidRequest(`the service of ${to} is outside serviceUrls; next: add ${place.serviceUrl} to serviceUrls`);
  }

  /** @param messageId an existing message. @throws GatewayError; `NOT_FOUND`: conversation or message is gone */
  async function post(call: To, activity: object, messageId?: string): Promise<Answer["data"]> {
    const { settings, signal, threadId = "" } = call;
    const { id, serviceUrl, isDirect } = await placeOf(call);
    const thread = !isDirect && /^\d+$/.test(threadId) ? `;messageid=${threadId}` : "";
    const path = ["v3", "conversations", id + thread, "activities", ...(messageId === undefined ? [] : [messageId])];
    for (let isNew = false; ; isNew = true) {
      const token = await tokenOf(settings, signal, isNew);
      const answer = await ask(
        {
          url: `${trimmed(serviceUrl)}/${path.map(encodeURIComponent).join("/")}`,
          who: "Teams",
          method: messageId === undefined ? "POST" : "PUT",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(activity),
        },
        { clock, signal },
      );
      if (answer.status < 300) return answer.data;
      if (answer.status !== 401 || isNew) return refuse(answer);
    }
  }

  function attachmentOf({ accountId, id, media }: OutboundMessage<Settings>, place: Place): Attachment[] {
    if (!media) return [];
    if (PICTURES.includes(media.mimeType) && media.bytes.byteLength <= MAX_PICTURE_BYTES) return [inlinePicture(media)];
    if (!place.isDirect)
      return invalidRequest(
        "bots cannot send files to groups and channels of Teams; next: send a link, or a PNG, JPEG or GIF picture of at most 1 MB",
      );
    waiting.add(id, { place: `${accountId} ${place.id}`, name: media.name, bytes: media.bytes });
    return [consentCard(media, id)];
  }

  return {
    post,

    async send(message: OutboundMessage<Settings>): Promise<SendReceipt> {
      const { id, text, poll, buttons = [] } = message;
      const files = attachmentOf(message, await placeOf(message));
      const attachments = [...files, ...buttonCard(buttons), ...(poll ? [pollCard(poll, id)] : [])];
      const words = poll && text === "" ? { summary: poll.question } : {};
      const sent = await post(message, { ...messageOf(text, attachments), ...words }).catch((error: unknown) => {
        if (!isGatewayError(error) || error.code !== "NOT_FOUND") throw error;
        return invalidRequest(`cannot send to ${message.to}: ${error.message}`);
      });
      return { ...(matches(Sent, sent) ? { messageId: sent.id } : {}), ...(poll ? { pollId: id } : {}) };
    },

    async edit(edit: MessageEdit<Settings>): Promise<void> {
      await post(edit, messageOf(edit.text, buttonCard(edit.buttons ?? [])), edit.messageId);
    },

    async typing(place: To): Promise<void> {
      await post(place, { type: "typing" });
    },

    /** Teams names no size of a file, so its bytes are read here, and a file that is too large is refused with its size. */
    async media({
      accountId,
      settings,
      signal,
      ref,
      maxBytes,
    }: MediaRequest<Settings>): Promise<MediaSource | MediaBytes> {
      const { url, needsToken } =
        (await bookOf(accountId, settings)).file(ref) ?? notFound("the address of the file has expired");
      if (needsToken && isWithin(url, settings.serviceUrls))
        return { url, headers: { authorization: `Bearer ${await tokenOf(settings, signal)}` } };
      if (!isWithin(url, settings.fileUrls))
        invalidRequest("the file is outside fileUrls; next: add its address to fileUrls");
      const { status, headers, body } = await ask(
        { url, who: "the file store", ms: 60_000, maxBytes },
        { clock, signal },
      );
      if (status !== 200) notFound(`the file store answered ${status}; next: the person sends the file again`);
      const mimeType = headers.get("content-type")?.split(";", 1)[0];
      return { bytes: body, ...(mimeType ? { mimeType } : {}) };
    },
  };
}

function messageOf(text: string, attachments: readonly Attachment[]): object {
  return { type: "message", ...(text === "" ? {} : { text: teamsHtml(text), textFormat: "xml" }), attachments };
}

/** The error of a refused request, in the words of Teams. @throws GatewayError always */
function refuse({ status, data }: Answer): never {
  const { code, message = "" } = matches(Refusal, data) ? data.error : { code: `status ${status}` };
  const said = `Teams refuses it (${code}${message === "" ? "" : `: ${message.slice(0, 200)}`})`;
  if (status === 401)
    throw new GatewayError(
      "NOT_LINKED",
      `${said}; next: check that the Azure bot has the channel Teams, and its tenantId`,
    );
  if (status === 404) throw new GatewayError("NOT_FOUND", said);
  const next =
    status === 403 ? "; next: add the app of the bot to the conversation, or ask the person to unblock it" : "";
  return invalidRequest(`${said}${status === 413 ? "; next: send a shorter text" : next}`);
}

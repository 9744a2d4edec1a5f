/** Sends, edits, typing and files, with the settings of each call. */
import { trimmedAddress } from "@svc/kit/channels";
import { type Clock, GatewayError, invalidRequest, type Logger, matches, notFound, Type } from "@svc/sdk";
import type { Channel, ChannelAccount, ChannelCall, ChannelPlace, OutboundMessage } from "@svc/sdk/channels";
import { buttonCard, consentCard, inlinePicture, pollCard, teamsHtml } from "./cards.ts";
import { isWithin, type Settings } from "./config.ts";
import type { createFiles } from "./files.ts";
import { type Answer, ask } from "./http.ts";
import type { Place, Store } from "./store.ts";
import type { TokenOf } from "./tokens.ts";
import type { Verify } from "./verify.ts";

const MAX_PICTURE_BYTES = 1_000_000;
const PICTURES = ["image/png", "image/jpeg", "image/gif"];
const Sent = Type.Object({ id: Type.String() });
const Refusal = Type.Object({ error: Type.Object({ code: Type.String(), message: Type.Optional(Type.String()) }) });

/** What all parts of the plugin share. */
export interface Shared {
  readonly clock: Clock;
  readonly log: Logger;
  readonly accounts: readonly ChannelAccount<Settings>[];
  readonly verify: Verify;
  readonly tokenOf: TokenOf;
  readonly store: Store;
  readonly files: ReturnType<typeof createFiles>;
}

type To = ChannelCall<Settings> & ChannelPlace;
export function createOutgoing({ clock, tokenOf, store, files }: Shared) {
  /** A conversation, at an address that a verified activity proved. @throws GatewayError `INVALID_REQUEST` */
  async function placeOf({ accountId, settings, to }: To): Promise<Place> {
    const place = await store.place(accountId, settings.appId, to);
    if (!place) return invalidRequest(`the bot has not met ${to} yet; next: somebody writes to the bot there`);
    if (isWithin(place.serviceUrl, settings.serviceUrls)) return place;
    return invalidRequest(`${place.serviceUrl} is outside serviceUrls; next: add it there if it is a service of Teams`);
  }

  /** @param messageId of the message to replace. @throws GatewayError; `NOT_FOUND`: it is gone */
  async function post(call: To, activity: object, messageId?: string): Promise<unknown> {
    const { settings, signal, threadId = "" } = call;
    const { id, serviceUrl, isDirect } = await placeOf(call);
    const thread = !isDirect && /^\d+$/.test(threadId) ? `;messageid=${threadId}` : "";
    const activities = `${trimmedAddress(serviceUrl)}/v3/conversations/${encodeURIComponent(id + thread)}/activities`;
    const url = messageId === undefined ? activities : `${activities}/${encodeURIComponent(messageId)}`;
    const [method, body] = [messageId === undefined ? "POST" : "PUT", JSON.stringify(activity)];
    for (let isNew = false; ; isNew = true) {
      const authorization = `Bearer ${await tokenOf(settings, signal, isNew)}`;
      const headers = { authorization, "content-type": "application/json" };
      const answer = await ask({ url, who: "Teams", method, headers, body }, { clock, signal });
      if (answer.status < 300) return answer.data;
      if (answer.status !== 401 || isNew) return refuse(answer, messageId !== undefined);
    }
  }

  async function filesOf(message: OutboundMessage<Settings>): Promise<object[]> {
    const { accountId, media } = message;
    if (!media) return [];
    if (PICTURES.includes(media.mimeType) && media.bytes.byteLength <= MAX_PICTURE_BYTES) return [inlinePicture(media)];
    const { id, isDirect } = await placeOf(message);
    if (!isDirect) invalidRequest("bots cannot send files to groups of Teams; next: send a link or a small picture");
    files.add(message.id, `${accountId} ${id}`, media.bytes);
    return [consentCard(media, message.id)];
  }

  const functions = {
    async send(message) {
      const { id, text, poll, buttons = [] } = message;
      const attachments = [...(await filesOf(message)), ...buttonCard(buttons), ...(poll ? [pollCard(poll, id)] : [])];
      const sent = await post(message, written(text, attachments));
      return { ...(matches(Sent, sent) ? { messageId: sent.id } : {}), ...(poll ? { pollId: id } : {}) };
    },
    edit: async (edit) => void (await post(edit, written(edit.text, buttonCard(edit.buttons ?? [])), edit.messageId)),
    typing: async (place) => void (await post(place, { type: "typing" })),

    /** Teams names no size of a file, so its bytes are read here: one that is too large is refused with its size. */
    async media({ accountId, settings, signal, ref, maxBytes }) {
      const { url, needsToken } = (await store.file(accountId, ref)) ?? notFound("the address of the file has expired");
      if (needsToken && isWithin(url, settings.serviceUrls))
        return { url, headers: { authorization: `Bearer ${await tokenOf(settings, signal)}` } };
      if (!isWithin(url, settings.fileUrls)) invalidRequest("the file is outside fileUrls; next: add its host there");
      const request = { url, who: "the file store", ms: 60_000, maxBytes };
      const { status, headers, body: bytes } = await ask(request, { clock, signal });
      if (status !== 200) notFound(`the file store answers ${status}; next: the person sends the file again`);
      return { bytes, mimeType: headers.get("content-type")?.split(";", 1)[0] || "application/octet-stream" };
    },
  } satisfies Partial<Channel<Settings>>;
  return { post, functions };
}

const written = (text: string, attachments: readonly object[]) => ({
  type: "message",
  ...(text === "" ? {} : { text: teamsHtml(text), textFormat: "xml" }),
  attachments,
});

/** The error of a refused request, in the words of Teams. @throws GatewayError always */
function refuse({ status, data }: Answer, isEdit: boolean): never {
  const { code, message = "" } = matches(Refusal, data) ? data.error : { code: `status ${status}` };
  const said = `Teams refuses it (${code}${message === "" ? "" : `: ${message.slice(0, 200)}`})`;
  if (status === 401) throw new GatewayError("NOT_LINKED", `${said}; next: check tenantId, and the Azure Bot`);
  if (status === 404 && isEdit) notFound(said);
  if (status === 413) invalidRequest(`${said}; next: send a shorter text`);
  const next = "; next: add the bot to the conversation, or ask the person to unblock it";
  return invalidRequest(`${said}${[403, 404].includes(status) ? next : ""}`);
}

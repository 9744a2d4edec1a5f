/** A BlueBubbles server: REST requests, polled messages, and a webhook that ends the pause between two polls. */
import type { Bounded } from "@svc/kit/channels";
import { type Clock, invalidRequest, isGatewayError, matches, Type } from "@svc/sdk";
import { type ApiRequest, ask, download, type RequestContext, SEND_MS } from "./api.ts";
import { type Settings, WEBHOOK_PATH, webhookSecret } from "./config.ts";
import type { Server } from "./server.ts";
import { TAPBACKS, tapbackOf } from "./tapbacks.ts";
import { fromBlueBubbles, groupOf, MAX_AGE_MS, type Received } from "./translate.ts";

/** Messages of one answer of the server. */
const PAGE = 200;
/** Rows that each poll reads again: edits, deletions, and rows that became visible late. */
const OVERLAP = 20;
/** Services of a direct chat, in the order in which they are tried. */
const SERVICES = ["any", "iMessage", "SMS", "RCS"];

export interface BlueBubblesContext {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  /** Guids of direct chats, by server and address. */
  readonly chats: Bounded<string>;
}

export function blueBubbles(settings: Settings, { clock, chats }: BlueBubblesContext): Server {
  const method = settings.privateApi ? "private-api" : "apple-script";
  const keyOf = (address: string) => `${settings.serverUrl} ${address}`;
  const request = (signal: AbortSignal, asked: ApiRequest) => ask(settings, { clock, signal }, asked);
  const at = (what: string, guid: string, action = "") => `${what}/${encodeURIComponent(guid)}${action}`;

  async function query(signal: AbortSignal, body: object): Promise<unknown[]> {
    const asked = { with: ["chat", "attachment", "handle"], ...body };
    const data = await request(signal, { path: "message/query", body: asked });
    return Array.isArray(data) ? data : [];
  }

  /** `undefined`: there is no chat with this person yet. */
  async function chatOf(to: string, signal: AbortSignal): Promise<string | undefined> {
    const known = groupOf(to) ?? chats.get(keyOf(to));
    if (known !== undefined) return known;
    for (const guid of SERVICES.map((service) => `${service};-;${to}`))
      try {
        await request(signal, { path: at("chat", guid) });
        chats.set(keyOf(to), guid);
        return guid;
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "NOT_FOUND") throw error;
      }
    return undefined;
  }

  const existing = async (to: string, signal: AbortSignal) =>
    (await chatOf(to, signal)) ?? invalidRequest(`there is no chat with ${to} yet; next: send a text there first`);

  return {
    async identify(signal) {
      const info = Object(await request(signal, { path: "server/info" })) as Readonly<Record<string, unknown>>; // compared
      const { detected_imessage: name, private_api: isEnabled, helper_connected: isConnected } = info;
      return {
        name: typeof name === "string" && name !== "" ? name : settings.serverUrl,
        privateApi: isEnabled === true && isConnected !== false,
      };
    },

    async newest(signal) {
      const rows = await query(signal, { limit: OVERLAP, sort: "DESC" });
      return Math.max(0, ...rows.map(rowOf));
    },

    async reaches(row, signal) {
      return (await query(signal, { where: after(row - OVERLAP), limit: 1 })).length > 0;
    },

    async *feed({ row, first, signal, nap, malformed }) {
      for (let last = row; ; await nap(settings.pollMs)) {
        const where = after(Math.max(first, last - OVERLAP));
        const oldest = clock.now() - MAX_AGE_MS;
        const raws: unknown[] = [];
        for (let isMore = true; isMore;) {
          const page = await query(signal, { where, after: oldest, sort: "ASC", limit: PAGE, offset: raws.length });
          raws.push(...page);
          isMore = page.length >= PAGE;
        }
        const batch: Received[] = [];
        raws.sort((one, other) => rowOf(one) - rowOf(other));
        for (const raw of raws) {
          const message = fromBlueBubbles(raw);
          if (message) batch.push(message);
          else if (rowOf(raw) > last) malformed(raw);
        }
        for (const { chatGuid, isOwn, message } of batch)
          if (!isOwn && message.chat.type === "direct") chats.set(keyOf(message.chat.id), chatGuid);
        yield batch;
        last = Math.max(last, rowOf(raws.at(-1)));
      }
    },

    find: async (guid, signal) => fromBlueBubbles(await request(signal, { path: at("message", guid, "?with=chats") })),

    async read(guid) {
      // An aborted request would leave its connection open.
      const { signal } = new AbortController();
      if (settings.privateApi) await request(signal, { path: at("chat", guid, "/read"), method: "POST" });
    },

    async send({ id, to, text: message, media, replyTo, signal }) {
      const tempGuid = `svc-${id}`;
      const post = (path: string, body: object) => request(signal, { path, body, ms: SEND_MS }).catch(nowhere);
      const answered = settings.privateApi && replyTo !== undefined ? { selectedMessageGuid: replyTo } : {};
      if (media) {
        const form = new FormData();
        const isAudioMessage = settings.privateApi && media.isVoice === true;
        const fields = { chatGuid: await existing(to, signal), tempGuid, method, ...answered };
        for (const [key, value] of Object.entries({ ...fields, name: media.name, isAudioMessage }))
          form.set(key, String(value));
        form.set("attachment", new Blob([media.bytes], { type: media.mimeType }), media.name);
        return sentId(await post("message/attachment", form));
      }
      const chatGuid = await chatOf(to, signal);
      if (chatGuid !== undefined) {
        const body = { chatGuid, message, tempGuid, method, ...answered };
        return sentId(await post("message/text", body));
      }
      const body = { addresses: [to], message, tempGuid, method, service: "iMessage" };
      const chat = await post("chat/new", body);
      const { messages } = Object(chat) as { messages?: unknown }; // checked here
      return sentId(Array.isArray(messages) ? messages[0] : undefined);
    },

    async edit({ messageId, text, signal }) {
      const body = { editedMessage: text, backwardsCompatibilityMessage: `Edited to: ${text}`, partIndex: 0 };
      await request(signal, { path: at("message", messageId, "/edit"), body, ms: SEND_MS });
    },

    async react({ to, messageId, emoji, remove, signal }) {
      const name =
        tapbackOf(emoji) ??
        invalidRequest(`iMessage has no tapback for ${emoji}; next: use one of ${TAPBACKS.join(" ")}`);
      const reaction = remove === true ? `-${name}` : name;
      const body = { chatGuid: await existing(to, signal), selectedMessageGuid: messageId, reaction, partIndex: 0 };
      await request(signal, { path: "message/react", body, ms: SEND_MS });
    },

    async typing({ to, signal }) {
      const guid = await chatOf(to, signal);
      if (guid !== undefined) await request(signal, { path: at("chat", guid, "/typing"), method: "POST" });
    },

    file: ({ ref, maxBytes, signal }) =>
      download(settings, { clock, signal }, { path: at("attachment", ref, "/download"), ms: SEND_MS, maxBytes }),

    close: async () => undefined,
  };
}

/** Condition of a query for later rows. */
const after = (startRowId: number) => [{ statement: "message.ROWID > :startRowId", args: { startRowId } }];

function rowOf(raw: unknown): number {
  const { originalROWID: row } = Object(raw) as { originalROWID?: unknown }; // checked here
  return typeof row === "number" ? row : 0;
}

function sentId(message: unknown): { messageId?: string } {
  const { guid } = Object(message) as { guid?: unknown }; // checked here
  return typeof guid === "string" ? { messageId: guid } : {};
}

/** A repetition would not find the chat either. @throws always */
function nowhere(error: unknown): never {
  if (isGatewayError(error) && error.code === "NOT_FOUND") invalidRequest(`cannot send: ${error.message}`);
  throw error;
}

const Webhook = Type.Object({ id: Type.Integer(), url: Type.String() });

/** Registers the webhook of the account, and removes those that a former password or version of it left. */
export async function registerWebhook(settings: Settings, accountId: string, context: RequestContext) {
  if (settings.callbackUrl === undefined) return;
  const base = `${settings.callbackUrl}${WEBHOOK_PATH}${accountId}/`;
  const own = base + webhookSecret(settings.password, accountId);
  const list = await ask(settings, context, { path: "webhook" });
  const hooks = (Array.isArray(list) ? list : []).filter((hook: unknown) => matches(Webhook, hook));
  for (const { id, url } of hooks)
    if (url !== own && url.startsWith(base)) await ask(settings, context, { path: `webhook/${id}`, method: "DELETE" });
  const body = { url: own, events: ["new-message", "updated-message"] };
  if (!hooks.some(({ url }) => url === own)) await ask(settings, context, { path: "webhook", body });
}

/** Sends, edits, reactions, typing and files, through the running adapter of the account. */
import { createHash } from "node:crypto";
import type { Adapter, AdapterPostableMessage, Attachment, EmojiValue } from "chat";
import { GatewayError, invalidRequest, isGatewayError, lazy, unavailable, untilAborted } from "@svc/sdk";
import type { Channel, ChannelCall, ChannelPlace, MessageButton, OutboundMessage } from "@svc/sdk/channels";
import { buttonKey, directKey } from "./chat.ts";
import type { Settings } from "./config.ts";
import { told } from "./failures.ts";
import type { Live } from "./run.ts";
import { channelOf, type StoredButton } from "./translate.ts";

/** The table of emoji comes with all of the library. */
const library = lazy(() => import("chat"));
const BUTTON_MS = 30 * 86_400_000;

type Call = ChannelCall<Settings>;
type Calls = Required<Pick<Channel<Settings>, "send" | "edit" | "react" | "typing" | "media" | "probe">>;
type Content = Pick<OutboundMessage, "text" | "media" | "buttons">;

export function createOutgoing(live: ReadonlyMap<string, Live>): Calls {
  const liveOf = ({ accountId }: Pick<Call, "accountId">) =>
    live.get(accountId) ?? unavailable(`the account ${accountId} is not connected`);

  /** @throws GatewayError as `failureOf` */
  const use = <T>({ settings, signal }: Call, what: string, work: () => T | Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    return told(settings, what, () => untilAborted(Promise.resolve().then(work), signal));
  };

  /** The thread of an address: for a person, the one of their last message. */
  async function threadOf(call: Call & Pick<ChannelPlace, "to">): Promise<string> {
    const { adapter, state } = liveOf(call);
    const { to, settings } = call;
    if (!to.startsWith("user:")) return to;
    const userId = to.slice("user:".length);
    const known = await state.get<string>(directKey(userId));
    if (known !== null) return known;
    if (!adapter.openDM)
      return invalidRequest(`the adapter ${settings.adapter} begins no direct chats; next: let the person write first`);
    return use(call, "openDM", async () => adapter.openDM?.(userId) ?? to);
  }

  /**
   * The network gets a short name for each button, because some accept only some bytes. Networks without buttons show the text
   * alone: texts with buttons also say what to write instead.
   */
  async function contentOf({ state }: Live, { text, media, buttons = [] }: Content): Promise<AdapterPostableMessage> {
    const file = media && { data: Buffer.from(media.bytes), filename: media.name, mimeType: media.mimeType };
    const files = file ? { files: [file] } : {};
    if (buttons.length === 0) return { markdown: text, ...files };
    const shown = async ({ label, value, style }: MessageButton) => {
      const id = createHash("sha256").update(`${label} ${value}`).digest("hex").slice(0, 16);
      await state.set<StoredButton>(buttonKey(id), { label, value }, BUTTON_MS);
      return { type: "button", id, label, ...(style ? { style } : {}) } as const;
    };
    const rows = await Promise.all(
      buttons.map(async (row) => ({ type: "actions", children: await Promise.all(row.map(shown)) }) as const),
    );
    const children = text === "" ? rows : [{ type: "text", content: text } as const, ...rows];
    return { card: { type: "card", children: [...children] }, fallbackText: text, ...files };
  }

  const post = (adapter: Adapter, threadId: string, content: AdapterPostableMessage, replyTo: string | undefined) => {
    if (replyTo !== undefined && adapter.reply) return adapter.reply(threadId, replyTo, content);
    // Commands of some networks name only the channel.
    const isChannel = adapter.postChannelMessage !== undefined && channelOf(adapter, threadId) === threadId;
    return (
      (isChannel ? adapter.postChannelMessage?.(threadId, content) : undefined) ??
      adapter.postMessage(threadId, content)
    );
  };

  return {
    async send(message) {
      message.signal.throwIfAborted();
      const own = liveOf(message);
      const [threadId, content] = [await threadOf(message), await contentOf(own, message)];
      const sent = await use(message, "postMessage", () => post(own.adapter, threadId, content, message.replyTo)).catch(
        (error: unknown) => {
          const isGone = isGatewayError(error) && error.code === "NOT_FOUND";
          throw isGone ? new GatewayError("INVALID_REQUEST", error.message) : error;
        },
      );
      return typeof sent.id === "string" && sent.id !== "" ? { messageId: sent.id } : {};
    },

    async edit(edit) {
      const own = liveOf(edit);
      const [threadId, content] = [await threadOf(edit), await contentOf(own, edit)];
      await use(edit, "editMessage", () => own.adapter.editMessage(threadId, edit.messageId, content));
    },

    async react(reaction) {
      const { adapter } = liveOf(reaction);
      const { messageId, remove = false } = reaction;
      const [threadId, { defaultEmojiResolver }] = [await threadOf(reaction), await library()];
      const emoji: EmojiValue = defaultEmojiResolver.fromGChat(reaction.emoji);
      const what = remove ? "removeReaction" : "addReaction";
      await use(reaction, what, () =>
        adapter[what](threadId, messageId, emoji.name === reaction.emoji ? emoji.name : emoji),
      );
    },

    async typing(call) {
      const { adapter } = liveOf(call);
      const threadId = await threadOf(call);
      await use(call, "startTyping", () => adapter.startTyping(threadId));
    },

    async media(call) {
      const { adapter, files } = liveOf(call);
      const { ref, maxBytes } = call;
      const known = files.get(ref);
      const stored = JSON.parse(ref) as Attachment & { readonly memory?: string }; // written by `refOf`
      if (!known && stored.memory !== undefined)
        throw new GatewayError("NOT_FOUND", "the file could be read only while the account ran");
      const attachment = known ?? adapter.rehydrateAttachment?.(stored) ?? stored;
      const { data, fetchData, url } = attachment;
      if (!data && !fetchData && url !== undefined) return { url };
      const given = data ?? (await use(call, "fetchData", () => fetchData?.()));
      if (!given) throw new GatewayError("NOT_FOUND", `the adapter ${call.settings.adapter} cannot read the file`);
      const bytes = new Uint8Array(given instanceof Blob ? await given.arrayBuffer() : given);
      return bytes.byteLength > maxBytes ? invalidRequest("the file is too large") : { bytes };
    },

    async probe(call) {
      const { name, userName, botUserId } = liveOf(call).adapter;
      return { ok: true, adapter: name, userName, ...(botUserId === undefined ? {} : { botUserId }) };
    },
  };
}

/** Sends, edits, reactions and typing, with the settings of each call. */
import { randomUUID } from "node:crypto";
import { type Clock, invalidRequest, isGatewayError, matches, notFound } from "@svc/sdk";
import type { Channel, ChannelCall, MessageReaction } from "@svc/sdk/channels";
import { ask, askFor, at, errcodeOf, type Requester } from "./api.ts";
import type { Settings } from "./config.ts";
import { editOf, messageOf, pollOf } from "./content.ts";
import { directoryOf, type Memory } from "./directory.ts";
import { Page, POLL_START, relationOf, RoomEvent } from "./events.ts";
import { MXC } from "./translate.ts";

/** @param type of the event @param transaction the server recognizes a repetition by it @returns the id of the event */
export const put = (requester: Requester, roomId: string, type: string, body: object, transaction: string) =>
  askFor("event_id", requester, at`client/v3/rooms/${roomId}/send/${type}/${transaction}`, { body });

type Calls = Required<Pick<Channel<Settings>, "send" | "edit" | "react" | "typing" | "media">>;

export function createOutgoing(
  clock: Pick<Clock, "setTimeout" | "now">,
  memoryOf: (accountId: string) => Memory,
): Calls {
  const callOf = ({ accountId, settings, signal }: ChannelCall<Settings>) => {
    const requester: Requester = { ...settings, clock, signal };
    const memory = memoryOf(accountId);
    return { requester, memory, directory: directoryOf(memory, requester) };
  };

  return {
    async send(message) {
      const { id, to, media, poll, threadId, replyTo, signal } = message;
      signal.throwIfAborted();
      const { requester, memory, directory } = callOf(message);
      try {
        const roomId = await directory.roomOf(to, replyTo ?? threadId, true);
        if ((await directory.room(roomId)).isEncrypted)
          invalidRequest(`${roomId} is encrypted, which svc cannot do; next: make a room without encryption`);
        const { name: filename = "", bytes: body = new Uint8Array(), mimeType = "" } = media ?? {};
        const file = { method: "POST", query: { filename }, body, mimeType };
        const url = media ? await askFor("content_uri", requester, "media/v3/upload", file) : "";
        const messageId = poll
          ? await put(requester, roomId, POLL_START, pollOf({ ...message, poll }), id)
          : await put(requester, roomId, "m.room.message", messageOf(message, url), id);
        memory.places.set(messageId, roomId);
        return poll ? { messageId, pollId: messageId } : { messageId };
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "NOT_FOUND") throw error;
        return invalidRequest(`cannot send to ${to}: ${error.message}`);
      }
    },

    async edit(change) {
      const { requester, directory } = callOf(change);
      const roomId = await directory.roomOf(change.to, change.messageId);
      await put(requester, roomId, "m.room.message", editOf(change.messageId, change.text), randomUUID());
    },

    async react(reaction) {
      const { to, messageId, emoji, remove = false } = reaction;
      const { requester, directory } = callOf(reaction);
      const roomId = await directory.roomOf(to, messageId);
      if (remove) return removeReaction(requester, roomId, reaction, await directory.me());
      const content = { "m.relates_to": { rel_type: "m.annotation", event_id: messageId, key: emoji } };
      await put(requester, roomId, "m.reaction", content, randomUUID()).catch((error: unknown) => {
        if (errcodeOf(error) !== "M_DUPLICATE_ANNOTATION") throw error;
      });
    },

    async typing(place) {
      const { requester, directory } = callOf(place);
      const roomId = await directory.roomOf(place.to, place.threadId);
      const path = at`client/v3/rooms/${roomId}/typing/${await directory.me()}`;
      await ask(requester, path, { body: { typing: true, timeout: 10_000 } });
    },

    async media({ settings, ref }) {
      const [, server, id] = MXC.exec(ref) ?? [];
      if (server === undefined || id === undefined) return notFound(`"${ref}" is not the address of a file on Matrix`);
      const url = `${settings.homeserverUrl}/_matrix/${at`client/v1/media/download/${server}/${id}`}`;
      return { url, headers: { authorization: `Bearer ${settings.accessToken}` } };
    },
  };
}

/** Clients differ in whether an emoji has a variation selector. */
const bare = (emoji: string | undefined) => emoji?.replaceAll("\uFE0F", "");

/** Only the first 100 reactions to the message are read. */
async function removeReaction(requester: Requester, roomId: string, reaction: MessageReaction, me: string) {
  const path = at`client/v1/rooms/${roomId}/relations/${reaction.messageId}/m.annotation/m.reaction`;
  const page: unknown = await ask(requester, path, { query: { limit: "100" } });
  for (const event of matches(Page, page) ? page.chunk : [])
    if (matches(RoomEvent, event) && event.sender === me && bare(relationOf(event).key) === bare(reaction.emoji))
      await ask(requester, at`client/v3/rooms/${roomId}/redact/${event.event_id}/${randomUUID()}`, { body: {} });
}

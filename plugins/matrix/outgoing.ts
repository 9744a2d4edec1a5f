/** Sends, edits, reactions and typing, with the settings of each call. */
import { randomUUID } from "node:crypto";
import {
  type Clock,
  GatewayError,
  invalidRequest,
  isGatewayError,
  matches,
  notFound,
  Type,
  unavailable,
} from "@svc/sdk";
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
import { ask, at, errcodeOf, type RequestContext, sendEvent } from "./api.ts";
import type { Settings } from "./config.ts";
import { editOf, fileOf, messageOf, pollOf, relating } from "./content.ts";
import { type Directory, directoryOf, type Memory } from "./directory.ts";
import { POLL_START, relationOf, RoomEvent } from "./events.ts";
import { MXC } from "./translate.ts";

/** Milliseconds for which people see that an answer is being written. */
const TYPING_MS = 10_000;

export interface OutgoingContext {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly memoryOf: (accountId: string) => Memory;
}

export function createOutgoing({ clock, memoryOf }: OutgoingContext) {
  const callOf = ({ accountId, settings, signal }: ChannelCall<Settings>) => {
    const request: RequestContext = { clock, signal };
    return { settings, request, directory: directoryOf(memoryOf(accountId), settings, request) };
  };

  return {
    async send(message: OutboundMessage<Settings>): Promise<SendReceipt> {
      const { id: transaction, to, text, media, poll, threadId, replyTo } = message;
      message.signal.throwIfAborted();
      const { settings, request, directory } = callOf(message);
      const put = (roomId: string, type: string, content: object) =>
        sendEvent(settings, request, { roomId, type, transaction, content });
      try {
        const roomId = await writableRoom(directory, to, replyTo ?? threadId);
        const file = media && fileOf(media, text, await upload(settings, request, media));
        const eventId = poll
          ? await put(roomId, POLL_START, { ...pollOf(poll), ...relating(threadId, replyTo) })
          : await put(roomId, "m.room.message", messageOf(message, file));
        directory.sent(roomId, eventId);
        return { messageId: eventId, ...(poll ? { pollId: eventId } : {}) };
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "NOT_FOUND") throw error;
        return invalidRequest(`cannot send to ${to}: ${error.message}`);
      }
    },

    async edit(change: MessageEdit<Settings>): Promise<void> {
      const { settings, request, directory } = callOf(change);
      const roomId = await directory.roomOf(change.to, change.messageId);
      const content = editOf(change.messageId, change.text);
      await sendEvent(settings, request, { roomId, type: "m.room.message", transaction: randomUUID(), content });
    },

    async react(reaction: MessageReaction<Settings>): Promise<void> {
      const { to, messageId, emoji, remove = false } = reaction;
      const { settings, request, directory } = callOf(reaction);
      const roomId = await directory.roomOf(to, messageId);
      if (remove) return removeReaction(callOf(reaction), roomId, reaction);
      const content = { "m.relates_to": { rel_type: "m.annotation", event_id: messageId, key: emoji } };
      await sendEvent(settings, request, { roomId, type: "m.reaction", transaction: randomUUID(), content }).catch(
        (error: unknown) => {
          if (errcodeOf(error) !== "M_DUPLICATE_ANNOTATION") throw error;
        },
      );
    },

    async typing(place: ChannelCall<Settings> & ChannelPlace): Promise<void> {
      const { settings, request, directory } = callOf(place);
      const roomId = await directory.roomOf(place.to, place.threadId);
      const path = at`client/v3/rooms/${roomId}/typing/${await directory.me()}`;
      await ask(settings, request, { path, body: { typing: true, timeout: TYPING_MS } });
    },

    async media({ settings, ref }: MediaRequest<Settings>): Promise<MediaSource> {
      const [, server, id] = MXC.exec(ref) ?? [];
      if (server === undefined || id === undefined) return notFound(`"${ref}" is not the address of a file on Matrix`);
      const url = `${settings.homeserverUrl}/_matrix/${at`client/v1/media/download/${server}/${id}`}`;
      return { url, headers: { authorization: `Bearer ${settings.accessToken}` } };
    },
  };
}

/** @throws GatewayError `INVALID_REQUEST`: the room is encrypted, so that a text without encryption does not belong there */
async function writableRoom(directory: Directory, to: string, near: string | undefined): Promise<string> {
  const roomId = await directory.roomOf(to, near, true);
  const { isEncrypted } = await directory.room(roomId);
  return isEncrypted
    ? invalidRequest(
        `the room ${roomId} is encrypted, which this gateway cannot do; next: make a room without encryption`,
      )
    : roomId;
}

async function upload(settings: Settings, request: RequestContext, media: OutboundMedia): Promise<string> {
  const { name: filename, bytes, mimeType } = media;
  const { content_uri: uri } = await ask(settings, request, {
    method: "POST",
    path: "media/v3/upload",
    query: { filename },
    file: { bytes, mimeType },
  });
  return typeof uri === "string" ? uri : unavailable("the Matrix homeserver did not name the uploaded file");
}

const Relations = Type.Object({ chunk: Type.Array(Type.Unknown()), next_batch: Type.Optional(Type.String()) });
const bare = (emoji: string | undefined) => emoji?.replaceAll("\uFE0F", "");

async function removeReaction(
  { settings, request, directory }: { settings: Settings; request: RequestContext; directory: Directory },
  roomId: string,
  { messageId, emoji }: MessageReaction<Settings>,
): Promise<void> {
  const me = await directory.me();
  const path = at`client/v1/rooms/${roomId}/relations/${messageId}/m.annotation/m.reaction`;
  for (let from: string | undefined = ""; from !== undefined;) {
    const query: Record<string, string> = { limit: "100", ...(from === "" ? {} : { from }) };
    const page = await ask(settings, request, { path, query });
    if (!matches(Relations, page)) throw new GatewayError("NOT_FOUND", "the reactions to the message are unknown");
    const own = page.chunk.find(
      (event): event is RoomEvent =>
        matches(RoomEvent, event) && event.sender === me && bare(relationOf(event).key) === bare(emoji),
    );
    if (own) {
      await ask(settings, request, {
        path: at`client/v3/rooms/${roomId}/redact/${own.event_id}/${randomUUID()}`,
        body: {},
      });
      return;
    }
    from = page.next_batch;
  }
}

/**
 * The last message of each conversation, stored: what people wrote while the account was away can be fetched, because
 * Slack repeats an event for about 5 minutes only.
 */
import { type Static, Type } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";

/** Conversations and threads; those with the latest messages. */
const MAX_PLACES = 30;

const Place = Type.Object({
  channel: Type.String(),
  thread: Type.Optional(Type.String()),
  /** Slack's time of the last message that the gateway has. */
  ts: Type.String(),
});
const Stored = Type.Object({ userId: Type.String(), places: Type.Array(Place) });

/** A conversation, or a thread in it. */
export type Place = Static<typeof Place>;

export interface History {
  /** The latest first. */
  places(): readonly Place[];
  /** Stores that the gateway has this message. @throws GatewayError `UNAVAILABLE` */
  note(message: InboundMessage): Promise<void>;
}

/** @param userId the bot. The history of another one counts as none */
export async function openHistory({ openState }: Pick<ChannelRun, "openState">, userId: string): Promise<History> {
  const stored = await openState(Stored);
  let places: readonly Place[] = stored.value?.userId === userId ? stored.value.places : [];
  return {
    places: () => places,
    async note({ chat, messageId, event }) {
      if (messageId === undefined || event) return;
      const isSame = ({ channel, thread }: Place) => channel === chat.id && thread === chat.threadId;
      const ts = places.find((place) => isSame(place) && Number(place.ts) > Number(messageId))?.ts ?? messageId;
      const place = { channel: chat.id, ...(chat.threadId === undefined ? {} : { thread: chat.threadId }), ts };
      places = [place, ...places.filter((other) => !isSame(other))].slice(0, MAX_PLACES);
      await stored.write({ userId, places: [...places] });
    },
  };
}

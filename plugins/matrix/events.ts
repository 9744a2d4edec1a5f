/** Events as the server sends them. */
import { matches, type Static, Type } from "@svc/sdk";

const Content = Type.Record(Type.String(), Type.Unknown());

const EventId = Type.String({ pattern: String.raw`^\$\S+$` });

export const RoomEvent = Type.Object({
  type: Type.String(),
  event_id: EventId,
  sender: Type.String({ pattern: String.raw`^@\S*:\S+$` }),
  content: Content,
  origin_server_ts: Type.Optional(Type.Number()),
  redacts: Type.Optional(Type.String()),
});
export type RoomEvent = Static<typeof RoomEvent>;

/** A change of a room; those of an invitation have no id. */
export const StateEvent = Type.Object({
  type: Type.String(),
  state_key: Type.String(),
  sender: Type.String(),
  content: Content,
  unsigned: Type.Optional(Type.Object({ prev_content: Type.Optional(Content) })),
});
export type StateEvent = Static<typeof StateEvent>;

const List = Type.Optional(Type.Array(Type.Unknown()));
const Events = Type.Optional(Type.Object({ events: List }));
const Rooms = Type.Optional(Type.Record(Type.String(), Type.Unknown()));
const Flag = Type.Optional(Type.Boolean());
const Text = Type.Optional(Type.String());
const Timeline = Type.Optional(Type.Object({ events: List, limited: Flag, prev_batch: Text }));
export const Room = Type.Object({ state: Events, timeline: Timeline, invite_state: Events });
export type Room = Static<typeof Room>;
export const Batch = Type.Object({
  next_batch: Type.String({ minLength: 1 }),
  account_data: Events,
  rooms: Type.Optional(Type.Object({ join: Rooms, invite: Rooms, leave: Rooms })),
});
export type Batch = Static<typeof Batch>;
export const Page = Type.Object({ chunk: Type.Array(Type.Unknown()), end: Text });

const Relation = Type.Object({
  rel_type: Text,
  event_id: Type.Optional(EventId),
  key: Text,
  is_falling_back: Flag,
  "m.in_reply_to": Type.Optional(Type.Object({ event_id: EventId })),
});

export const MESSAGES: readonly string[] = ["m.room.message", "m.sticker"];
/** Clients do not use the stable names of polls yet. */
export const POLL_START = "org.matrix.msc3381.poll.start";
export const POLL_RESPONSES: readonly string[] = ["m.poll.response", "org.matrix.msc3381.poll.response"];
/** Types that can become a message of the gateway. */
export const READ: readonly string[] = [...MESSAGES, ...POLL_RESPONSES, "m.reaction", "m.room.redaction"];

/** How the event relates to another one. */
export function relationOf({ content }: Pick<RoomEvent, "content">): Static<typeof Relation> {
  const relation = content["m.relates_to"];
  return matches(Relation, relation) ? relation : {};
}

/** Id of the event that this one answers, changes or belongs to. */
export function relatedId(event: RoomEvent): string | undefined {
  const redacted = event.redacts ?? event.content["redacts"];
  if (event.type === "m.room.redaction") return matches(EventId, redacted) ? redacted : undefined;
  const { rel_type: type, event_id: id, is_falling_back: isFallback, "m.in_reply_to": reply } = relationOf(event);
  return type === undefined || (type === "m.thread" && reply && isFallback !== true) ? reply?.event_id : id;
}

export const isMember = (event: unknown, userId: string): event is StateEvent =>
  matches(StateEvent, event) && event.type === "m.room.member" && event.state_key === userId;

/** Events as the server sends them. */
import { matches, type Static, Type } from "@svc/sdk";

const Content = Type.Record(Type.String(), Type.Unknown());

export const RoomEvent = Type.Object({
  type: Type.String(),
  event_id: Type.String({ pattern: String.raw`^\$\S+$` }),
  sender: Type.String({ pattern: String.raw`^@\S*:\S+$` }),
  content: Content,
  origin_server_ts: Type.Optional(Type.Number()),
  state_key: Type.Optional(Type.String()),
  redacts: Type.Optional(Type.String()),
  unsigned: Type.Optional(Content),
});
export type RoomEvent = Static<typeof RoomEvent>;

/** A state event; those of an invitation have no id. */
export const StateEvent = Type.Object({
  type: Type.String(),
  state_key: Type.String(),
  sender: Type.String(),
  content: Content,
  unsigned: Type.Optional(Content),
});
export type StateEvent = Static<typeof StateEvent>;

const Events = Type.Optional(Type.Object({ events: Type.Optional(Type.Array(Type.Unknown())) }));

export const JoinedRoom = Type.Object({
  state: Events,
  timeline: Type.Optional(
    Type.Object({
      events: Type.Optional(Type.Array(Type.Unknown())),
      limited: Type.Optional(Type.Boolean()),
      prev_batch: Type.Optional(Type.String()),
    }),
  ),
});
export type JoinedRoom = Static<typeof JoinedRoom>;

export const InvitedRoom = Type.Object({ invite_state: Events });

const Rooms = Type.Optional(Type.Record(Type.String(), Type.Unknown()));
export const Batch = Type.Object({
  next_batch: Type.String({ minLength: 1 }),
  account_data: Events,
  rooms: Type.Optional(Type.Object({ join: Rooms, invite: Rooms, leave: Rooms })),
});
export type Batch = Static<typeof Batch>;

const Relation = Type.Object({
  rel_type: Type.Optional(Type.String()),
  event_id: Type.Optional(Type.String()),
  key: Type.Optional(Type.String()),
  is_falling_back: Type.Optional(Type.Boolean()),
  "m.in_reply_to": Type.Optional(Type.Object({ event_id: Type.String() })),
});

export const MESSAGES: ReadonlySet<string> = new Set(["m.room.message", "m.sticker"]);
/** Polls have other names until clients support the stable ones. */
export const POLL_START = "org.matrix.msc3381.poll.start";
export const POLL_RESPONSES: ReadonlySet<string> = new Set(["m.poll.response", "org.matrix.msc3381.poll.response"]);
const READ: ReadonlySet<string> = new Set([...MESSAGES, ...POLL_RESPONSES, "m.reaction", "m.room.redaction"]);

/** Whether the event can become a message of the gateway. */
export const isRead = ({ type }: RoomEvent) => READ.has(type);

/** How the event relates to another one. */
export function relationOf({ content }: Pick<RoomEvent, "content">): Static<typeof Relation> {
  const relation = content["m.relates_to"];
  return matches(Relation, relation) ? relation : {};
}

/** Id of the event that this one answers, changes or belongs to. */
export function relatedId(event: RoomEvent): string | undefined {
  if (event.type === "m.room.redaction") {
    const redacted = event.redacts ?? event.content["redacts"];
    return typeof redacted === "string" ? redacted : undefined;
  }
  const { rel_type: type, event_id: id, is_falling_back: isFallback, "m.in_reply_to": reply } = relationOf(event);
  if (type === undefined || (type === "m.thread" && reply && isFallback !== true)) return reply?.event_id;
  return id;
}

/** `membership` of a member event. */
export const membershipOf = ({ content }: Pick<StateEvent, "content">) => content["membership"];

/** The bot was outside the room before this event. */
export function isOwnJoin(event: StateEvent, me: string): boolean {
  const { prev_content: before } = Object(event.unsigned) as { readonly prev_content?: unknown }; // compared below
  return isMember(event, me) && membershipOf(event) === "join" && Object(before).membership !== "join";
}

export const isMember = ({ type, state_key: key }: StateEvent, userId: string) =>
  type === "m.room.member" && key === userId;

/** Posts and events as the server sends them. Pure. */
import { matches, type Static, Type } from "@svc/sdk";

const ID = "^[a-z0-9]{26}$";
const IS_ID = new RegExp(ID);
const Id = Type.String({ pattern: ID });
const Time = Type.Number({ minimum: 0 });

/** Whether `text` is an id of the server. */
export function isId(text: string): boolean {
  return IS_ID.test(text);
}

export const Post = Type.Object({
  id: Id,
  user_id: Id,
  channel_id: Id,
  message: Type.String(),
  create_at: Time,
  update_at: Type.Optional(Time),
  edit_at: Type.Optional(Time),
  delete_at: Type.Optional(Time),
  root_id: Type.Optional(Type.String()),
  original_id: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  props: Type.Optional(Type.Unknown()),
  metadata: Type.Optional(Type.Unknown()),
});
export type Post = Static<typeof Post>;

export const FileInfo = Type.Object({
  id: Id,
  name: Type.Optional(Type.String()),
  mime_type: Type.Optional(Type.String()),
  size: Type.Optional(Type.Number()),
});

/** An embedded post, to which a post links. */
export const Linked = Type.Object({
  type: Type.Literal("permalink"),
  data: Type.Object({ post: Post, channel_display_name: Type.Optional(Type.String()) }),
});
export type Linked = Static<typeof Linked>;

const Reaction = Type.Object({
  user_id: Id,
  post_id: Id,
  emoji_name: Type.String({ minLength: 1 }),
  create_at: Type.Optional(Time),
  update_at: Type.Optional(Time),
  delete_at: Type.Optional(Time),
});
type Reaction = Static<typeof Reaction>;

const Frame = Type.Object({
  event: Type.Optional(Type.Unknown()),
  seq: Type.Optional(Type.Number()),
  seq_reply: Type.Optional(Type.Number()),
  status: Type.Optional(Type.Unknown()),
  data: Type.Optional(Type.Unknown()),
});
export type Frame = Static<typeof Frame>;

/** D: direct, G: several people, O: public, P: private. */
export interface ChannelFacts {
  readonly type: string;
  readonly name?: string;
  readonly teamId?: string;
}

/** Something that concerns a message. `channel`, `senderName` and `mentions`: if the event itself tells. */
export type NetworkEvent = PostEvent | ReactionEvent;

export interface PostEvent {
  readonly kind: "posted" | "edited" | "deleted";
  readonly post: Post;
  readonly channel?: ChannelFacts;
  readonly senderName?: string;
  readonly mentions?: readonly string[];
}

export interface ReactionEvent {
  readonly kind: "reaction";
  readonly reaction: Reaction;
  readonly isRemoved: boolean;
}

/** @throws Error for anything but a frame of the server */
export function readFrame(text: string): Frame {
  const frame: unknown = JSON.parse(text);
  if (!matches(Frame, frame)) throw new Error("not an event of Mattermost");
  return frame;
}

const POSTS: ReadonlyMap<unknown, "posted" | "edited" | "deleted"> = new Map([
  ["posted", "posted"],
  ["post_edited", "edited"],
  ["post_deleted", "deleted"],
]);

/** @returns `undefined`: the event concerns no message. @throws Error for a malformed event */
export function readEvent({ event, data }: Frame): NetworkEvent | undefined {
  const facts = Object(data) as Readonly<Record<string, unknown>>; // each value is checked below
  const kind = POSTS.get(event);
  if (kind !== undefined) return postEvent(kind, facts);
  if (event !== "reaction_added" && event !== "reaction_removed") return undefined;
  const reaction = inner(facts["reaction"]);
  if (!matches(Reaction, reaction)) throw new Error("the event of a reaction has no reaction");
  return { kind: "reaction", reaction, isRemoved: event === "reaction_removed" };
}

function postEvent(kind: "posted" | "edited" | "deleted", facts: Readonly<Record<string, unknown>>): PostEvent {
  const post = inner(facts["post"]);
  if (!matches(Post, post)) throw new Error(`the event of a post that was ${kind} has no post`);
  const { channel_type: type, channel_display_name: name, team_id: teamId, sender_name: sender } = facts;
  const mentions = typeof facts["mentions"] === "string" ? inner(facts["mentions"]) : [];
  return {
    kind,
    post,
    ...(typeof type === "string" && type !== "" ? { channel: channelFacts(type, name, teamId) } : {}),
    ...(typeof sender === "string" && sender !== "" ? { senderName: sender.replace(/^@/, "") } : {}),
    ...(Array.isArray(mentions) ? { mentions: mentions.filter((id) => typeof id === "string") } : {}),
  };
}

export function channelFacts(type: string, name: unknown, teamId: unknown): ChannelFacts {
  return {
    type,
    ...(typeof name === "string" && name !== "" ? { name } : {}),
    ...(typeof teamId === "string" && teamId !== "" ? { teamId } : {}),
  };
}

/** Objects inside an event are JSON texts. */
function inner(value: unknown): unknown {
  return typeof value === "string" ? JSON.parse(value) : value;
}

/**
 * What a post that the server lists as changed means to somebody who has seen everything until `since` (epoch ms).
 * Nothing for a reaction, an answer in its thread, or an earlier version of an edited post.
 */
export function changesOf(post: Post, since: number): readonly PostEvent[] {
  const { original_id: original = "", create_at: created, edit_at: edited = 0, delete_at: deleted = 0 } = post;
  if (original !== "") return [];
  if (deleted > 0) return deleted > since ? [{ kind: "deleted", post }] : [];
  return [
    ...(created > since ? [{ kind: "posted" as const, post }] : []),
    ...(edited > since ? [{ kind: "edited" as const, post }] : []),
  ];
}

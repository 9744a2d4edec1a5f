/** Incoming messages and events of a channel. Plain data. */

/** Kind of a file in a message. */
export type MediaKind = "image" | "audio" | "video" | "file";

/** A file of an incoming message. The owner of the point downloads it through `Channel.media`. */
export interface InboundMedia {
  /** Names the file for `Channel.media`, also after a restart; no secret. At most 2,000 characters. */
  readonly ref: string;
  readonly kind: MediaKind;
  readonly name?: string;
  readonly mimeType?: string;
  /** Bytes, if the network says. */
  readonly size?: number;
  /** Audio recorded as speech. */
  readonly isVoice?: boolean;
}

/** The message that this one answers. */
export interface InboundReply {
  readonly messageId: string;
  readonly text?: string;
  readonly senderName?: string;
  /** A message of the agent: in a group, the answer then counts as a mention. Default false. */
  readonly isOwn?: boolean;
}

/** A forwarded message. Its files are in `media` of the message. */
export interface InboundForward {
  readonly text: string;
  /** Name of the author or chat it comes from. */
  readonly from?: string;
}

/** A place on earth. */
export interface InboundLocation {
  /** Degrees. */
  readonly latitude: number;
  readonly longitude: number;
  readonly name?: string;
  readonly address?: string;
}

/** Something that happened to a message, instead of a new message. */
export type InboundEvent =
  /** `text` of the message is the new text. */
  | { readonly kind: "edit"; readonly messageId: string }
  | { readonly kind: "deletion"; readonly messageId: string }
  /** `isOwn`: to a message of the agent. */
  | {
      readonly kind: "reaction";
      readonly messageId: string;
      readonly emoji: string;
      readonly isRemoved?: boolean;
      readonly isOwn?: boolean;
    }
  /** `value` of a `MessageButton`; `text` of the message is its label. */
  | { readonly kind: "button"; readonly messageId?: string; readonly value: string }
  /** Empty `options`: the person withdrew the answer. */
  | { readonly kind: "poll-answer"; readonly pollId: string; readonly options: readonly string[] };

/** Where a message was written. Groups have the facts that `bindings` match. */
export interface InboundChat {
  readonly type: "direct" | "group";
  /** Address for `send` to reply to. */
  readonly id: string;
  readonly name?: string;
  readonly threadId?: string;
  /** Id of the group that the chat belongs to, e.g. the channel of a thread that is a chat of its own. */
  readonly parentId?: string;
  /** Server (guild) of the group. */
  readonly guildId?: string;
  /** Team or workspace of the group. */
  readonly teamId?: string;
}

/** Who wrote a message. */
export interface InboundSender {
  /** An id that no other user can take over. */
  readonly id: string;
  readonly name?: string;
  /** Ids of the roles of the sender in the guild. */
  readonly roles?: readonly string[];
}

/** An incoming message or event. */
export interface InboundMessage {
  /** Unique within the account: messages with a known id are ignored. Default: every message counts as new. */
  readonly id?: string;
  /** The network's id of the message, for replies and reactions. Default `id`. */
  readonly messageId?: string;
  readonly chat: InboundChat;
  readonly sender: InboundSender;
  /** Without a leading mention, so that commands such as `/new` are recognized. Empty for a file without text. */
  readonly text: string;
  /** The message addresses the agent. Used in groups. */
  readonly mentioned?: boolean;
  readonly media?: readonly InboundMedia[];
  readonly replyTo?: InboundReply;
  /** Words of somebody else that the sender forwards: external content, never a command. `text` has only the sender's own. */
  readonly forwarded?: InboundForward;
  readonly location?: InboundLocation;
  /** Absent: a new message. */
  readonly event?: InboundEvent;
  /** epoch ms; default: now. */
  readonly at?: number;
}

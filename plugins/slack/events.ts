/** What Slack sends: the used part of it. Slack adds keys at any time, and sends `null` for some absent values. */
import { describeViolations, matches, type Static, type TSchema, Type } from "@svc/sdk";

const maybe = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));
const Text = Type.String();
const Id = Type.String({ minLength: 1 });

export const SlackFile = Type.Object({
  id: Id,
  name: maybe(Text),
  title: maybe(Text),
  mimetype: maybe(Text),
  size: maybe(Type.Number()),
  /** `slack_audio`: recorded in Slack. */
  subtype: maybe(Text),
  /** `external`: stored elsewhere; `tombstone`: deleted; `hidden_by_limit`: not readable. */
  mode: maybe(Text),
  url_private: maybe(Text),
});

const Attachment = Type.Object({
  /** A forwarded message, or the message behind a link. */
  is_share: maybe(Type.Boolean()),
  is_msg_unfurl: maybe(Type.Boolean()),
  author_name: maybe(Text),
  text: maybe(Text),
  files: maybe(Type.Array(SlackFile)),
});

const Written = {
  ts: Id,
  user: maybe(Text),
  bot_id: maybe(Text),
  subtype: maybe(Text),
  text: maybe(Text),
  thread_ts: maybe(Text),
  /** Author of the first message of the thread. */
  parent_user_id: maybe(Text),
  files: maybe(Type.Array(SlackFile)),
  attachments: maybe(Type.Array(Attachment)),
  edited: maybe(Type.Object({ ts: Text })),
};
export const WrittenMessage = Type.Object(Written);

/** `message` and `app_mention`. */
export const MessageEvent = Type.Object({
  ...Written,
  channel: Id,
  channel_type: maybe(Text),
  message: maybe(WrittenMessage),
  previous_message: maybe(WrittenMessage),
  deleted_ts: maybe(Text),
});

export const ReactionEvent = Type.Object({
  user: Id,
  reaction: Id,
  item_user: maybe(Text),
  item: Type.Object({ type: Text, channel: maybe(Id), ts: maybe(Id) }),
});

export const Callback = Type.Object({
  team_id: maybe(Text),
  event_id: Id,
  event: Type.Object({ type: Text }),
});

/** The installation of the app that an event is for. */
export const Authorized = Type.Object({
  authorizations: Type.Array(Type.Object({ team_id: Text, is_enterprise_install: maybe(Type.Boolean()) })),
});

export const BlockActions = Type.Object({
  user: Type.Object({ id: Id }),
  team: maybe(Type.Object({ id: Text })),
  channel: maybe(Type.Object({ id: Id, name: maybe(Text) })),
  container: Type.Object({ message_ts: maybe(Id), thread_ts: maybe(Text) }),
  actions: Type.Array(
    Type.Object({
      action_id: Text,
      action_ts: Id,
      value: maybe(Text),
      text: maybe(Type.Object({ text: Text })),
    }),
  ),
});

export const SlashCommand = Type.Object({
  command: Text,
  text: maybe(Text),
  user_id: Id,
  channel_id: Id,
  channel_name: maybe(Text),
  team_id: maybe(Text),
  trigger_id: Id,
});

/** @throws Error the value has another shape, with what is wrong */
export function shaped<S extends TSchema>(schema: S, value: unknown): Static<S> {
  if (matches(schema, value)) return value;
  throw new Error(describeViolations(schema, value));
}

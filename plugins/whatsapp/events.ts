/** Deliveries as WhatsApp posts them. Lists are read entry by entry: a malformed one does not hide the others. Pure. */
import { type Static, Type } from "@svc/sdk";

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
const list = Type.Optional(Type.Array(Type.Unknown()));
const Id = Type.String({ minLength: 1, maxLength: 512 });

export const Delivery = Type.Object({
  entry: Type.Array(Type.Object({ changes: Type.Array(Type.Object({ field: Type.String(), value: Type.Unknown() })) })),
});

/** The value of a change in the field `messages`. */
export const Value = Type.Object({
  metadata: Type.Object({ phone_number_id: Type.String(), display_phone_number: text }),
  contacts: list,
  messages: list,
  statuses: list,
  errors: list,
});
export type Value = Static<typeof Value>;

const Profile = Type.Optional(Type.Object({ name: text }));
/** `user_id` identifies a person who hides the number behind a username. */
export const Contact = Type.Object({ wa_id: text, user_id: text, profile: Profile });
export type Contact = Static<typeof Contact>;

/** What happened to a sent message. */
export const Status = Type.Object({ id: Id, status: Type.String(), errors: list });

/** What all messages have; the rest depends on `type`. */
export const Message = Type.Object({
  id: Id,
  type: Type.String({ pattern: "^[a-z0-9_]{1,64}$" }),
  from: text,
  from_user_id: text,
  group_id: text,
  timestamp: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  context: Type.Optional(Type.Unknown()),
  errors: list,
});
export type Message = Static<typeof Message>;

/** The message that is answered; `id` and `from` are absent for a forwarded one. */
export const Context = Type.Object({ id: Type.Optional(Id), from: text, forwarded: flag, frequently_forwarded: flag });

const Reply = Type.Object({ id: Type.String({ minLength: 1 }), title: Type.String() });

/** Content of a message. */
export const Media = Type.Object({ id: Id, mime_type: text, caption: text, filename: text, voice: flag });
export const Text = Type.Object({ body: Type.String() });
export const Location = Type.Object({ latitude: Type.Number(), longitude: Type.Number(), name: text, address: text });
export const Cards = Type.Array(
  Type.Object({
    name: Type.Optional(Type.Object({ formatted_name: text })),
    phones: Type.Optional(Type.Array(Type.Object({ phone: text }))),
    emails: Type.Optional(Type.Array(Type.Object({ email: text }))),
  }),
);
export const Reaction = Type.Object({ message_id: Id, emoji: text });
export const Interactive = Type.Object({ button_reply: Type.Optional(Reply), list_reply: Type.Optional(Reply) });
export const TemplateButton = Type.Object({ text: Type.String(), payload: text });
const Changed = Type.Optional(Type.Object({ type: Type.String() }));
export const Change = Type.Object({ original_message_id: Id, message: Changed });

/** Events of the daemon, as far as they are used. The daemon writes `null` for what is absent. */
import { type Static, Type, type TSchema } from "@svc/sdk";

const maybe = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));
const text = maybe(Type.String());
const flag = maybe(Type.Boolean());
const time = Type.Integer({ minimum: 0 });

const Mention = Type.Object({ name: text, number: text, uuid: text, start: time, length: time });
const mentions = maybe(Type.Array(Mention));
const Attachment = Type.Object({ id: text, contentType: text, filename: text, size: maybe(time), isVoiceNote: flag });
const Quote = Type.Object({ id: time, authorNumber: text, authorUuid: text, text, mentions });
const author = { targetAuthorNumber: text, targetAuthorUuid: text };
const Reaction = Type.Object({ ...author, emoji: Type.String(), targetSentTimestamp: time, isRemove: flag });
const Data = Type.Object({
  message: text,
  viewOnce: flag,
  mentions,
  attachments: maybe(Type.Array(Attachment)),
  sticker: maybe(Type.Object({ packId: Type.String(), stickerId: time })),
  quote: maybe(Quote),
  reaction: maybe(Reaction),
  remoteDelete: maybe(Type.Object({ timestamp: time })),
  groupInfo: maybe(Type.Object({ groupId: Type.String({ minLength: 1 }), groupName: text })),
});
export type Data = Static<typeof Data>;
const Edit = Type.Object({ targetSentTimestamp: time, dataMessage: Data });
export type Edit = Static<typeof Edit>;
/** What another device of the account sent. */
const Target = Type.Object({ destinationNumber: text, destinationUuid: text, editMessage: maybe(Edit) });
const Sync = Type.Object({ sentMessage: maybe(Type.Intersect([Data, Target])) });

const Envelope = Type.Object({
  sourceNumber: text,
  sourceUuid: text,
  sourceName: text,
  timestamp: time,
  /** Time of Signal's server, epoch ms. Older daemons do not tell it. */
  serverReceivedTimestamp: maybe(time),
  dataMessage: maybe(Data),
  editMessage: maybe(Edit),
  syncMessage: maybe(Sync),
});
const exception = maybe(Type.Object({ type: text })); // why the message could not be read
export const ReceiveEvent = Type.Object({ account: text, exception, envelope: maybe(Envelope) });
export type ReceiveEvent = Static<typeof ReceiveEvent>;

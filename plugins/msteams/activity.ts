/** Activities as Teams sends them: the parts that are used. */
import { matches, type Static, Type } from "@svc/sdk";

const text = Type.Optional(Type.String());
const list = Type.Optional(Type.Array(Type.Unknown()));
const Id = Type.String({ minLength: 1, maxLength: 450 });

export const Activity = Type.Object({
  type: Type.String(),
  id: Type.Optional(Id),
  timestamp: text,
  channelId: Type.String(),
  serviceUrl: Type.String(),
  from: Type.Object({ id: Id, name: text, aadObjectId: text, role: text }),
  recipient: Type.Optional(Type.Object({ id: text })),
  conversation: Type.Object({ id: Id, conversationType: text, isGroup: Type.Optional(Type.Boolean()), name: text }),
  text,
  name: text,
  action: text,
  replyToId: text,
  value: Type.Optional(Type.Unknown()),
  entities: list,
  attachments: list,
  reactionsAdded: list,
  reactionsRemoved: list,
  channelData: Type.Optional(
    Type.Object({
      team: Type.Optional(Type.Object({ id: text })),
      channel: Type.Optional(Type.Object({ name: text })),
    }),
  ),
});
export type Activity = Static<typeof Activity>;

export const Mention = Type.Object({
  type: Type.Literal("mention"),
  mentioned: Type.Object({ id: Type.String() }),
  text: Type.String({ minLength: 1 }),
});

export const Reaction = Type.Object({ type: Type.String({ minLength: 1 }) });

/** A file that a person uploaded. Its address contains a token and is valid for some minutes. */
export const Download = Type.Object({
  contentType: Type.Literal("application/vnd.microsoft.teams.file.download.info"),
  name: text,
  content: Type.Object({ downloadUrl: Type.String() }),
});

export const Picture = Type.Object({
  contentType: Type.String({ pattern: "^image/" }),
  contentUrl: Type.String({ maxLength: 4_000 }),
  name: text,
});

export const Html = Type.Object({ contentType: Type.Literal("text/html"), content: Type.String() });

/** The answer of a person to a consent card. */
export const Consent = Type.Object({
  action: Type.Enum(["accept", "decline"]),
  context: Type.Object({ fileId: Type.String() }),
  uploadInfo: Type.Optional(
    Type.Object({
      uploadUrl: Type.String(),
      contentUrl: Type.String(),
      name: Type.String(),
      uniqueId: Type.String(),
      fileType: text,
    }),
  ),
});
export type Consent = Static<typeof Consent>;

/** @returns `undefined`: not an activity */
export function activityOf(body: unknown): Activity | undefined {
  // Some senders write absent fields as null.
  const given: unknown = JSON.parse(JSON.stringify(body), (_key, value: unknown) => value ?? undefined);
  return matches(Activity, given) ? given : undefined;
}

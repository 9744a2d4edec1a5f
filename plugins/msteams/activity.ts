/** Activities as Teams sends them: the parts that are used. */
import { matches, type Static, Type } from "@svc/sdk";

const text = Type.Optional(Type.String());
const list = Type.Optional(Type.Array(Type.Unknown()));
const Id = Type.String({ minLength: 1, maxLength: 450 });
const Url = Type.String({ maxLength: 8_000 });
const Reactions = Type.Optional(Type.Array(Type.Object({ type: Id })));
const Named = Type.Optional(Type.Object({ id: text, name: text }));

const Activity = Type.Object({
  type: Type.String(),
  id: Type.Optional(Id),
  timestamp: text,
  channelId: Type.String(),
  serviceUrl: Type.String(),
  from: Type.Object({ id: Id, name: text, aadObjectId: text, role: text }),
  recipient: Named,
  conversation: Type.Object({ id: Id, conversationType: text, name: text }),
  text,
  name: text,
  replyToId: text,
  value: Type.Optional(Type.Unknown()),
  entities: list,
  attachments: list,
  reactionsAdded: Reactions,
  reactionsRemoved: Reactions,
  channelData: Type.Optional(Type.Object({ team: Named, channel: Named })),
});
export type Activity = Static<typeof Activity>;

/** @returns `undefined`: not an activity */
export function activityOf(body: unknown): Activity | undefined {
  // Some senders write absent fields as null.
  const given: unknown = JSON.parse(JSON.stringify(body), (_key, value: unknown) => value ?? undefined);
  return matches(Activity, given) ? given : undefined;
}

export const Mention = Type.Object({ type: Type.Literal("mention"), mentioned: Type.Object({ id: Id }), text: Id });
export const Html = Type.Object({ contentType: Type.Literal("text/html"), content: Type.String() });
export const Picture = Type.Object({ contentType: Type.String({ pattern: "^image/" }), contentUrl: Url, name: text });
const DownloadType = Type.Literal("application/vnd.microsoft.teams.file.download.info");
const DownloadInfo = Type.Object({ downloadUrl: Url });
/** A file that a person uploaded. Its address contains a token and is valid for some minutes. */
export const Download = Type.Object({ contentType: DownloadType, name: text, content: DownloadInfo });
const UploadInfo = Type.Object({ name: Type.String(), uploadUrl: Url, contentUrl: Url, uniqueId: Id, fileType: text });
export type UploadInfo = Static<typeof UploadInfo>;
const Answer = { action: Type.Enum(["accept", "decline"]), context: Type.Object({ fileId: Id }) };
/** The answer of a person to a consent card. */
export const Consent = Type.Object({ ...Answer, uploadInfo: Type.Optional(UploadInfo) });

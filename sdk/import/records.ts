/**
 * Records that move between gateways, one schema for each kind. A reader of another product's state writes them, an importer takes them,
 * and an export gives them. Times are epoch ms. Choice: all of it; the protocol defines no such exchange.
 */
import { CronJob, CronRunEntry } from "../cron/contract.ts";
import { NonEmpty, type Static, Type } from "../schema.ts";

const Moment = Type.Integer({ minimum: 0, description: "epoch ms" });
const text = Type.Optional(Type.String());
const Values = Type.Record(Type.String(), Type.Unknown());

/** Kind `session`. */
export const SessionRecord = Type.Object({
  id: Type.String({ minLength: 1, description: "canonical key" }),
  sessionId: NonEmpty,
  updatedAt: Moment,
  entry: Type.Record(Type.String(), Type.Unknown(), {
    description: "fields of a session entry without sessionId and updatedAt",
  }),
});
export type SessionRecord = Static<typeof SessionRecord>;

/** One message of a transcript. */
export const TranscriptMessage = Type.Object({
  id: NonEmpty,
  at: Moment,
  message: Type.Object({ role: NonEmpty, content: Type.Array(Type.Unknown()) }),
});
export type TranscriptMessage = Static<typeof TranscriptMessage>;

/** Kind `transcript`: messages in order, or the next part of them. */
export const TranscriptRecord = Type.Object({
  id: Type.String({ minLength: 1, description: "session id" }),
  after: Type.Optional(Type.String({ description: "id of the message before the first; absent: they are the first" })),
  messages: Type.Array(TranscriptMessage),
  compactions: Type.Optional(
    Type.Array(
      Type.Object({
        summary: Type.String(),
        firstKeptId: Type.String({ description: "id of the first message that the summary does not replace" }),
        tokensBefore: Type.Integer({ minimum: 0 }),
        at: Moment,
      }),
    ),
  ),
});
export type TranscriptRecord = Static<typeof TranscriptRecord>;

/** Kind `archive`: a transcript that no session shows. Its messages are a `transcript` record. */
export const ArchiveRecord = Type.Object({
  id: Type.String({ minLength: 1, description: "session id" }),
  key: Type.String({ minLength: 1, description: "canonical key of the session that had it" }),
  reason: Type.Enum(["reset", "deleted", "bak", "kept"]),
  archivedAt: Moment,
  partOf: Type.Optional(Type.String({ description: "session id that the messages were cut off from" })),
});
export type ArchiveRecord = Static<typeof ArchiveRecord>;

/** Kind `cron-job`. */
export const CronJobRecord = CronJob;
export type CronJobRecord = Static<typeof CronJobRecord>;

/** Kind `cron-run`: a run that has ended. */
export const CronRunRecord = Type.Object({
  id: Type.String({ minLength: 1, description: "job id and time" }),
  entry: CronRunEntry,
});
export type CronRunRecord = Static<typeof CronRunRecord>;

/** Kind `device`: a device that was approved. */
export const DeviceRecord = Type.Object({
  id: Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of the public key, hex" }),
  publicKey: Type.String({ minLength: 1, description: "base64url" }),
  displayName: text,
  platform: text,
  deviceFamily: text,
  clientId: text,
  clientMode: text,
  roles: Type.Array(NonEmpty),
  approvedScopes: Type.Optional(
    Type.Array(Type.String(), { description: "absent: unknown, so that no operator token is taken" }),
  ),
  tokens: Type.Array(
    Type.Object({
      role: NonEmpty,
      scopes: Type.Array(Type.String()),
      value: Type.String({ minLength: 1, description: "what the device sends; only its digest is stored" }),
      createdAt: Moment,
      former: Type.Optional(
        Type.Boolean({
          description:
            "of a given record: the device still sends the token of the gateway that it was imported from, and gets `value` at its next connect",
        }),
      ),
    }),
  ),
  createdAt: Moment,
  approvedAt: Moment,
  node: Type.Optional(
    Type.Object(
      { commands: Type.Array(Type.String()), caps: Type.Array(Type.String()) },
      { description: "what it may be asked as a node; absent: what it declares at its first connect" },
    ),
  ),
});
export type DeviceRecord = Static<typeof DeviceRecord>;

/** Kind `node`: a node that was paired with a token of the older kind. */
export const NodeRecord = Type.Object({
  id: NonEmpty,
  token: Type.String({ minLength: 1, description: "only its digest is stored" }),
  displayName: text,
  platform: text,
  version: text,
  commands: Type.Optional(Type.Array(Type.String())),
  caps: Type.Optional(Type.Array(Type.String())),
  createdAt: Moment,
  approvedAt: Moment,
});
export type NodeRecord = Static<typeof NodeRecord>;

/** Kind `command-policy`: which commands agents may run. One record. */
export const CommandPolicyRecord = Type.Object({ id: NonEmpty, file: Values });
export type CommandPolicyRecord = Static<typeof CommandPolicyRecord>;

/** Kind `wake-words`. One record. */
export const WakeWordsRecord = Type.Object({ id: NonEmpty, triggers: Type.Array(Type.String()) });
export type WakeWordsRecord = Static<typeof WakeWordsRecord>;

/** Kind `secret`: a credential that the configuration refers to by `{ source: "file", provider: "imported", id: "/<id>" }`. */
export const SecretRecord = Type.Object({
  id: Type.String({ pattern: "^[A-Za-z0-9_.:@-]+$", maxLength: 200 }),
  value: Type.String({ minLength: 1 }),
});
export type SecretRecord = Static<typeof SecretRecord>;

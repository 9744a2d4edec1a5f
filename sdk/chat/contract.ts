/** Chat namespace and the `chat` event. Spec: §4.1 row "Chat"; protocol/methods-chat.md, protocol/events.md §4. */
import { CommandEntry } from "../commands/contract.ts";
import { defineContract, defineEvent } from "../contract.ts";
import { ModelChoice } from "../models/contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";
import { SessionRow } from "../sessions/contract.ts";

/** An attached file. `content` is base64 or a data URL; items without usable content are dropped. */
export const Attachment = Type.Object({
  type: Type.Optional(Type.String()),
  mimeType: Type.Optional(Type.String()),
  fileName: Type.Optional(Type.String()),
  content: Type.Optional(Type.Unknown()),
});

const RunIds = Type.Array(Type.String());

/** Which messages of a conversation are read. */
const Reading = {
  sessionKey: NonEmpty,
  agentId: Type.Optional(
    Type.String({ minLength: 1, description: "must be the agent of the key; any for `global` and `unknown`" }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "default 200" })),
  maxBytes: Type.Optional(
    Type.Integer({
      minimum: 1024,
      description: "bytes of `messages` as JSON, at most and by default 6291456; the oldest messages are left out",
    }),
  ),
  inputRunIds: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      description: "runs whose message the caller sent: `inputReceipts` says what became of it",
    }),
  ),
};

/** An open conversation. */
const Conversation = {
  sessionKey: Type.String(),
  sessionId: Type.Optional(Type.String()),
  messages: Type.Array(Type.Unknown(), {
    description:
      "each has `{id, seq}` in `__svc` and in `__<alias>` of each name of `gateway.aliases`; those of people have `idempotencyKey`: `<runId>:user`",
  }),
  thinkingLevel: Type.Optional(Type.String()),
  verboseLevel: Type.Optional(Type.String()),
  hasMore: Type.Optional(Type.Boolean({ description: "there are older messages" })),
  nextOffset: Type.Optional(Type.Integer({ description: "`offset` of the next older page; not with `before`" })),
  totalMessages: Type.Optional(
    Type.Integer({ description: "`seq` of the newest message: messages that were archived count, too" }),
  ),
  oldestId: Type.Optional(Type.String({ description: "with `ids`: `before` of the next older page" })),
  activeRuns: Type.Optional(
    Type.Array(
      Type.Object({
        runId: Type.String(),
        startedAt: Type.Optional(Type.Integer({ description: "epoch ms; absent: waits for its turn" })),
      }),
      { description: "with `ids`: runs of the session that have not ended, oldest first" },
    ),
  ),
  inputReceipts: Type.Optional(
    Type.Array(
      Type.Object({
        runId: Type.String(),
        state: Type.Enum(["pending", "consumed"]),
        consumedByEventId: Type.Optional(Type.String({ description: "id of the message; with `consumed`" })),
      }),
      {
        description:
          "with `inputRunIds`: pending: the message waits for its turn; consumed: it is one of `messages`, alone or with others; absent: neither",
      },
    ),
  ),
  defaults: Type.Optional(
    Type.Object(
      {
        modelProvider: Type.Union([Type.String(), Type.Null()]),
        model: Type.Union([Type.String(), Type.Null()]),
        contextTokens: Type.Union([Type.Integer(), Type.Null()]),
      },
      { description: "the default model of the agent" },
    ),
  ),
  sessionInfo: Type.Optional(SessionRow),
};

/** A param of clients for something that this gateway does not have. */
const Refused = Type.Optional(Type.Unknown({ description: "refused: this gateway does not support it" }));

/** Conversations with an agent. */
export const chat = defineContract("chat", {
  history: {
    summary: "Get the last messages of a session, oldest first",
    scope: "operator.read",
    params: Strict({
      ...Reading,
      sessionId: Type.Optional(
        Type.String({ minLength: 1, description: "refused unless it is the current conversation of the key" }),
      ),
      before: Type.Optional(
        Type.String({ minLength: 1, description: "id of a message: the page ends before it; implies `ids`" }),
      ),
      offset: Type.Optional(Type.Integer({ minimum: 0, description: "newest messages to leave out; default 0" })),
      messageId: Type.Optional(
        Type.String({ minLength: 1, description: "id of a message: it is in the middle of the page" }),
      ),
      ids: Type.Optional(
        Type.Boolean({ description: "every compaction is marked, and the result says how to read on" }),
      ),
      maxChars: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 500_000, description: "characters of one text; default 12000" }),
      ),
    }),
    result: Type.Object({
      ...Conversation,
      offset: Type.Optional(
        Type.Integer({ description: "with `offset` or `messageId`: newer messages that were left out" }),
      ),
    }),
  },
  startup: {
    summary: "Open a conversation: the last messages, its session, its runs and the default model in one answer",
    scope: "operator.read",
    params: Strict(Reading),
    result: Type.Object(Conversation),
  },
  metadata: {
    summary: "Get the models and commands for the menus of a chat, as `models.list` and `commands.list` return them",
    scope: "operator.read",
    params: Strict({
      agentId: Type.Optional(Type.String({ minLength: 1, description: "the tag `default` marks its model" })),
      sessionKey: Type.Optional(Type.String({ minLength: 1, description: "stands for its agent, without `agentId`" })),
    }),
    result: Type.Object({ models: Type.Array(ModelChoice), commands: Type.Array(CommandEntry) }),
  },
  send: {
    summary: "Send a message; the reply arrives as `chat` events",
    scope: "operator.write",
    params: Strict({
      sessionKey: NonEmpty,
      agentId: Reading.agentId,
      sessionId: Type.Optional(
        Type.String({
          minLength: 1,
          description: "conversation that the caller shows; `CONFLICT` when the key has another one by now",
        }),
      ),
      message: Type.String(),
      thinking: Type.Optional(Type.String()),
      deliver: Type.Optional(Type.Boolean()),
      attachments: Type.Optional(Type.Array(Type.Unknown())),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 0, description: "milliseconds; 0: no limit" })),
      idempotencyKey: NonEmpty,
      replaces: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            "id of a message of the user: this one takes its place, and later messages leave the conversation; without `attachments` its images are kept",
        }),
      ),
      expectedLeafEntryId: Type.Optional(
        Type.Union([NonEmpty, Type.Null()], {
          description:
            "id of the last message that the caller shows, null: none; `CONFLICT` when there is a newer one. Ignored with the queue mode `steer`",
        }),
      ),
      queueMode: Type.Optional(
        Type.Enum(["steer", "followup", "collect", "interrupt"], {
          description: "what this message does while the session is busy; default: as set for the session",
        }),
      ),
      replyToId: Type.Optional(
        Type.String({
          minLength: 1,
          description: "id of a message of this conversation, of which the agent gets a quote; not with `replaces`",
        }),
      ),
      workContext: Type.Optional(
        Type.Object(
          {
            page: Type.String({ minLength: 1, maxLength: 64 }),
            title: Type.Optional(Type.String({ maxLength: 96 })),
            sessionKey: Type.Optional(Type.String({ maxLength: 192 })),
            sessionId: Type.Optional(Type.String({ maxLength: 64 })),
            agentId: Type.Optional(Type.String({ maxLength: 64 })),
            workspace: Type.Optional(Type.String({ maxLength: 224 })),
            file: Type.Optional(Type.String({ maxLength: 224 })),
            selection: Type.Optional(Type.String({ maxLength: 640 })),
          },
          { additionalProperties: false, description: "what the person has open; added to the message" },
        ),
      ),
      suppressCommandInterpretation: Type.Optional(
        Type.Boolean({ description: "true: the text goes to the agent, even if it is a command or a stop request" }),
      ),
      __controlUiReconnectResume: Type.Optional(
        Type.Boolean({ description: "accepted: the client has reconnected; `sessionId` is checked in any case" }),
      ),
      fastMode: Type.Optional(
        Type.Union([Type.Boolean(), Type.Literal("auto")], { description: "only false is supported" }),
      ),
      fastAutoOnSeconds: Refused,
      intent: Refused,
      mentions: Refused,
      toolBindings: Refused,
      systemInputProvenance: Refused,
      systemProvenanceReceipt: Refused,
      originatingChannel: Refused,
      originatingTo: Refused,
      originatingAccountId: Refused,
      originatingThreadId: Refused,
      expectedSessionRoutingContract: Refused,
      expectedPermissionMode: Type.Optional(
        Type.Union([Type.String(), Type.Null()], { description: "only null is supported" }),
      ),
      expectedToolOverrides: Type.Optional(
        Type.Union([Type.Object({}), Type.Null()], { description: "only null is supported" }),
      ),
    }),
    result: Type.Union([
      Type.Object({
        runId: Type.String(),
        status: Type.Union([
          Type.Literal("started"),
          Type.Literal("in_flight"),
          Type.Literal("ok"),
          Type.Literal("error"),
        ]),
        summary: Type.Optional(Type.String()),
      }),
      Type.Object({ ok: Type.Literal(true), aborted: Type.Boolean(), runIds: RunIds }),
    ]),
  },
  abort: {
    summary: "Stop the runs of a session started by `chat.send`",
    scope: "operator.write",
    params: Strict({
      sessionKey: NonEmpty,
      agentId: Reading.agentId,
      runId: Type.Optional(NonEmpty),
      preserveSideRuns: Type.Optional(
        Type.Boolean({ description: "accepted: a session of this gateway has no runs beside its conversation" }),
      ),
    }),
    result: Type.Object({ ok: Type.Literal(true), aborted: Type.Boolean(), runIds: RunIds }),
  },
  inject: {
    summary: "Append an assistant message without a run",
    scope: "operator.admin",
    advertised: false,
    params: Strict({ sessionKey: NonEmpty, message: NonEmpty, label: Type.Optional(Type.String({ maxLength: 100 })) }),
    result: Type.Object({ ok: Type.Literal(true), messageId: Type.String() }),
  },
});

/**
 * Progress of every run with a session key. The text of `delta` is cumulative; exactly one of the other states ends a
 * run. A slow connection may miss deltas, but none of the others.
 */
export const chatEvent = defineEvent({
  name: "chat",
  summary: "A reply progressed, finished, failed or was stopped",
  scope: "operator.read",
  formerlyForAll: true,
  payload: Type.Object({
    runId: Type.String(),
    sessionKey: Type.String(),
    agentId: Type.Optional(Type.String()),
    seq: Type.Integer({ minimum: 0 }),
    state: Type.Union([Type.Literal("delta"), Type.Literal("final"), Type.Literal("aborted"), Type.Literal("error")]),
    message: Type.Optional(
      Type.Object({
        role: Type.Literal("assistant"),
        content: Type.Array(Type.Object({ type: Type.Literal("text"), text: Type.String() })),
        timestamp: Type.Integer({ description: "epoch ms" }),
      }),
    ),
    deltaText: Type.Optional(Type.String({ description: "with `delta`: what the last delta of the run did not have" })),
    replace: Type.Optional(
      Type.Literal(true, {
        description: "with `delta`: `deltaText` is the whole text, which does not extend the last one",
      }),
    ),
    usage: Type.Optional(Type.Unknown({ description: "with `final`: tokens of all requests of the run" })),
    errorMessage: Type.Optional(Type.String()),
    errorKind: Type.Optional(
      Type.Enum(["rate_limit", "timeout"], { description: "with `error`: if the model failed so" }),
    ),
    stopReason: Type.Optional(Type.String()),
  }),
});

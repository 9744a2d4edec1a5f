/** Chat namespace and the `chat` event. Spec: §4.1 row "Chat"; protocol/methods-chat.md, protocol/events.md §4. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

/** An attached file. `content` is base64 or a data URL; items without usable content are dropped. */
export const Attachment = Type.Object({
  type: Type.Optional(Type.String()),
  mimeType: Type.Optional(Type.String()),
  fileName: Type.Optional(Type.String()),
  content: Type.Optional(Type.Unknown()),
});

const RunIds = Type.Array(Type.String());

/** Conversations with an agent. */
export const chat = defineContract("chat", {
  history: {
    summary: "Get the last messages of a session, oldest first",
    scope: "operator.read",
    params: Strict({
      sessionKey: NonEmpty,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "default 200" })),
      before: Type.Optional(
        Type.String({ minLength: 1, description: "id of a message: the page ends before it; implies `ids`" }),
      ),
      ids: Type.Optional(
        Type.Boolean({ description: "each message has its id in `__svc.id`, and the result says how to read on" }),
      ),
      maxChars: Type.Optional(
        Type.Integer({ minimum: 100, maximum: 100_000, description: "characters of one text; default 12000" }),
      ),
    }),
    result: Type.Object({
      sessionKey: Type.String(),
      sessionId: Type.Optional(Type.String()),
      messages: Type.Array(Type.Unknown()),
      thinkingLevel: Type.Optional(Type.String()),
      verboseLevel: Type.Optional(Type.String()),
      hasMore: Type.Optional(Type.Boolean({ description: "with `ids`: there are older messages" })),
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
    }),
  },
  send: {
    summary: "Send a message; the reply arrives as `chat` events",
    scope: "operator.write",
    params: Strict({
      sessionKey: NonEmpty,
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
    params: Strict({ sessionKey: NonEmpty, runId: Type.Optional(NonEmpty) }),
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
 * run.
 */
export const chatEvent = defineEvent({
  name: "chat",
  summary: "A reply progressed, finished, failed or was stopped",
  scope: "operator.read",
  formerlyForAll: true,
  payload: Type.Object({
    runId: Type.String(),
    sessionKey: Type.String(),
    seq: Type.Integer({ minimum: 0 }),
    state: Type.Union([Type.Literal("delta"), Type.Literal("final"), Type.Literal("aborted"), Type.Literal("error")]),
    message: Type.Optional(
      Type.Object({
        role: Type.Literal("assistant"),
        content: Type.Array(Type.Object({ type: Type.Literal("text"), text: Type.String() })),
        timestamp: Type.Integer({ description: "epoch ms" }),
      }),
    ),
    errorMessage: Type.Optional(Type.String()),
    stopReason: Type.Optional(Type.String()),
  }),
});

/** Sessions namespace. Spec: §4.1 row "Sessions"; params and results: protocol/methods-sessions.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const Count = Type.Integer({ minimum: 1 });
const Label = Type.String({ minLength: 1, maxLength: 64 });
const text = Type.Optional(Type.String());
const number = Type.Optional(Type.Integer());
const flag = Type.Optional(Type.Boolean());
const record = Type.Optional(Type.Object({}));

/** One session as listed by `sessions.list`. */
export const SessionRow = Type.Object({
  key: NonEmpty,
  kind: Type.Union([Type.Literal("direct"), Type.Literal("group"), Type.Literal("global"), Type.Literal("unknown")]),
  label: text,
  displayName: text,
  channel: text,
  subject: text,
  groupChannel: text,
  space: text,
  chatType: text,
  origin: record,
  updatedAt: Type.Union([Type.Integer({ description: "epoch ms" }), Type.Null()]),
  sessionId: text,
  systemSent: flag,
  abortedLastRun: flag,
  thinkingLevel: text,
  verboseLevel: text,
  reasoningLevel: text,
  elevatedLevel: text,
  sendPolicy: text,
  inputTokens: number,
  outputTokens: number,
  totalTokens: Type.Optional(Type.Integer({ description: "absent if outdated" })),
  totalTokensFresh: Type.Boolean(),
  responseUsage: text,
  groupActivation: text,
  execHost: text,
  execSecurity: text,
  execAsk: text,
  execNode: text,
  modelOverride: Type.Optional(Type.String({ description: "the chosen model; absent: the default of the agent" })),
  providerOverride: text,
  modelProvider: text,
  model: text,
  contextTokens: number,
  deliveryContext: record,
  lastChannel: text,
  lastTo: text,
  lastAccountId: text,
  derivedTitle: text,
  lastMessagePreview: text,
  hasActiveRun: Type.Optional(
    Type.Literal(true, { description: "a reply is in progress, or a message waits for one" }),
  ),
});

/** A stored session. `sessionId` changes at every reset; further fields may be present. */
export const SessionRecord = Type.Object({ sessionId: NonEmpty, updatedAt: Type.Integer({ description: "epoch ms" }) });

/**
 * A value, or null to restore the default; absent: unchanged. The handler validates the text, because aliases are
 * accepted.
 */
const Clearable = (description: string) =>
  Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()], { description }));

/** Listing, previewing, resetting and deleting conversations. */
export const sessions = defineContract("sessions", {
  list: {
    summary: "List sessions, newest first",
    scope: "operator.read",
    params: Strict({
      key: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            "canonical key; returns only this session, also the run of a scheduled job; other filters are ignored",
        }),
      ),
      limit: Type.Optional(Count),
      activeMinutes: Type.Optional(Count),
      includeGlobal: flag,
      includeUnknown: flag,
      includeDerivedTitles: flag,
      includeLastMessage: flag,
      label: Type.Optional(Label),
      spawnedBy: Type.Optional(NonEmpty),
      agentId: Type.Optional(NonEmpty),
      search: text,
      cursor: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          description: "`nextCursor` of a result with the same other params: continue after its last row",
        }),
      ),
    }),
    result: Type.Object({
      ts: Type.Integer({ description: "epoch ms" }),
      path: Type.String({ description: "path of the session store" }),
      count: Type.Integer({ description: "number of returned rows" }),
      defaults: Type.Object({
        modelProvider: Type.Union([Type.String(), Type.Null()]),
        model: Type.Union([Type.String(), Type.Null()]),
        contextTokens: Type.Union([Type.Integer(), Type.Null()]),
      }),
      sessions: Type.Array(SessionRow),
      nextCursor: Type.Optional(Type.String({ description: "older sessions may follow; absent: these are all" })),
    }),
  },
  preview: {
    summary: "Get the last messages of several sessions",
    scope: "operator.read",
    params: Strict({
      keys: Type.Array(NonEmpty, { minItems: 1 }),
      limit: Type.Optional(Type.Integer({ minimum: 1, description: "messages per session; default 12, at most 50" })),
      maxChars: Type.Optional(
        Type.Integer({ minimum: 20, description: "characters per message; default 240, at most 2000" }),
      ),
    }),
    result: Type.Object({
      ts: Type.Integer(),
      previews: Type.Array(
        Type.Object({
          key: Type.String(),
          status: Type.Union([
            Type.Literal("ok"),
            Type.Literal("empty"),
            Type.Literal("missing"),
            Type.Literal("error"),
          ]),
          items: Type.Array(Type.Object({ role: Type.String(), text: Type.String() })),
          damaged: Type.Optional(Type.Integer({ description: "unreadable messages that were omitted" })),
        }),
      ),
    }),
  },
  resolve: {
    summary: "Resolve the canonical key of a session",
    scope: "operator.read",
    advertised: false,
    params: Strict({
      key: Type.Optional(NonEmpty),
      sessionId: Type.Optional(NonEmpty),
      label: Type.Optional(Label),
      agentId: Type.Optional(NonEmpty),
      spawnedBy: Type.Optional(NonEmpty),
      includeGlobal: flag,
      includeUnknown: flag,
    }),
    result: Type.Object({ ok: Type.Literal(true), key: Type.String() }),
  },
  reset: {
    summary: "Start the conversation over",
    scope: "operator.admin",
    params: Strict({ key: NonEmpty, reason: Type.Optional(Type.Union([Type.Literal("new"), Type.Literal("reset")])) }),
    result: Type.Object({ ok: Type.Literal(true), key: Type.String(), entry: SessionRecord }),
  },
  delete: {
    summary: "Delete a session; its transcript is archived",
    scope: "operator.admin",
    params: Strict({ key: NonEmpty, deleteTranscript: flag, emitLifecycleHooks: flag }),
    result: Type.Object({
      ok: Type.Literal(true),
      key: Type.String(),
      deleted: Type.Boolean(),
      archived: Type.Array(Type.String()),
    }),
  },
  patch: {
    summary: "Change the settings of one session",
    scope: "operator.admin",
    params: Strict({
      key: NonEmpty,
      label: Type.Optional(Type.Union([Label, Type.Null()])),
      thinkingLevel: Clearable("off, minimal, low, medium, high, xhigh or adaptive"),
      verboseLevel: Clearable("off, on or full"),
      reasoningLevel: Clearable("off, on or stream"),
      responseUsage: Type.Optional(Type.Union([Type.Enum(["off", "tokens", "full", "on"]), Type.Null()])),
      elevatedLevel: Clearable("off, or ask: every command needs approval; on and full are rejected"),
      execHost: Clearable("where commands may run: sandbox, gateway or node"),
      execSecurity: Clearable("upper limit of which commands may run: deny, allowlist or full"),
      execAsk: Clearable("minimum of when approval is required: off, on-miss or always"),
      execNode: Clearable("id of the only node on which commands may run"),
      model: Clearable("provider/model, a model id or an alias"),
      sendPolicy: Type.Optional(Type.Union([Type.Enum(["allow", "deny"]), Type.Null()])),
      groupActivation: Type.Optional(Type.Union([Type.Enum(["mention", "always"]), Type.Null()])),
      spawnedBy: Clearable("key of the session that started this one; set only once, for subagent sessions"),
      spawnDepth: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      path: Type.String(),
      key: Type.String(),
      entry: SessionRecord,
      resolved: Type.Object({ modelProvider: text, model: text }),
    }),
  },
  compact: {
    summary: "Keep only the last messages of a session; the others are archived",
    scope: "operator.admin",
    params: Strict({
      key: NonEmpty,
      maxLines: Type.Optional(Type.Integer({ minimum: 1, description: "messages to keep; default 400" })),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      key: Type.String(),
      compacted: Type.Boolean(),
      reason: text,
      archived: text,
      kept: number,
    }),
  },
});

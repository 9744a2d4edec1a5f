/** Sessions namespace. Spec: §4.1 row "Sessions"; params and results: protocol/methods-sessions.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const Count = Type.Integer({ minimum: 1 });
const Label = Type.String({ minLength: 1, maxLength: 64 });
const text = Type.Optional(Type.String());
const number = Type.Optional(Type.Integer());
const flag = Type.Optional(Type.Boolean());
const record = Type.Optional(Type.Object({}));
const epochMs = (description: string) => Type.Optional(Type.Integer({ description: `epoch ms; ${description}` }));

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
  activeRunIds: Type.Optional(Type.Array(Type.String(), { description: "runs that have not ended, oldest first" })),
  startedAt: epochMs("start of the oldest active run; absent: none has started"),
  status: Type.Optional(
    Type.Enum(["running", "killed"], {
      description: "killed: the last run was stopped; absent: no run, or the last one ended by itself",
    }),
  ),
  agentId: Type.Optional(Type.String({ description: "the default agent for `global` and `unknown`" })),
  isMain: Type.Optional(Type.Boolean({ description: "the main session of its agent" })),
  spawnedBy: Type.Optional(Type.String({ description: "key of the session that started this one as its sub-agent" })),
  parentSessionKey: Type.Optional(Type.String({ description: "key of the session from which a person opened it" })),
  category: Type.Optional(Type.String({ description: "name of the group in which people put it" })),
  icon: text,
  color: text,
  pinned: flag,
  pinnedAt: epochMs("absent: not pinned"),
  archived: flag,
  archivedAt: epochMs("absent: not archived"),
  unread: Type.Optional(Type.Boolean({ description: "marked as unread, or used since it was last read" })),
  lastReadAt: epochMs("absent: nobody has marked it as read"),
  markedUnreadAt: epochMs("absent: not marked as unread"),
  snapshotAt: epochMs("time at which this row was read"),
});

/** A session that `sessions.resolve` found. */
const Candidate = Type.Object({ key: Type.String(), agentId: Type.String(), displayName: text });

/** A stored session. `sessionId` changes at every reset; further fields may be present. */
export const SessionRecord = Type.Object({ sessionId: NonEmpty, updatedAt: Type.Integer({ description: "epoch ms" }) });

/**
 * A value, or null to restore the default; absent: unchanged. The handler validates the text, because aliases are
 * accepted.
 */
const Clearable = (description: string) =>
  Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()], { description }));

const AgentOfKey = Type.Optional(
  Type.String({
    minLength: 1,
    description: "agent of a key without `agent:`; with a full key, it must be the agent of the key",
  }),
);

/** The caller has seen this session id. */
const ExpectedSessionId = Type.Optional(
  Type.String({ minLength: 1, description: "refused with CONFLICT if the session has another id, e.g. after a reset" }),
);

/** A setting of other gateways. Choice: a value that asks for nothing is accepted; any other one is refused by name. */
const Unsupported = Type.Optional(Type.Unknown({ description: "not supported: only null and false are accepted" }));

const Category = Type.String({ minLength: 1, maxLength: 512 });

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
      offset: Type.Optional(
        Type.Integer({ minimum: 0, description: "rows to skip; cheaper and exact while sessions are used: `cursor`" }),
      ),
      archived: Type.Optional(
        Type.Union([Type.Boolean(), Type.Literal("all")], {
          description: "false (default): sessions that are not archived; true: archived ones; all: both",
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
      nextCursor: Type.Optional(Type.String({ description: "older sessions follow; absent: these are all" })),
      hasMore: Type.Optional(Type.Boolean({ description: "older sessions follow" })),
      nextOffset: Type.Optional(
        Type.Union([Type.Integer(), Type.Null()], { description: "`offset` of the next page; null: these are all" }),
      ),
      offset: Type.Optional(Type.Integer({ description: "rows skipped; absent: 0" })),
      limitApplied: Type.Optional(Type.Integer({ description: "absent: no limit" })),
      totalCount: Type.Optional(
        Type.Integer({ description: "sessions that pass the filters; on the last page, without `cursor`" }),
      ),
    }),
  },
  describe: {
    summary: "Get one session as sessions.list shows it",
    scope: "operator.read",
    params: Strict({
      key: NonEmpty,
      agentId: AgentOfKey,
      includeDerivedTitles: flag,
      includeLastMessage: flag,
    }),
    result: Type.Object({ session: Type.Union([SessionRow, Type.Null()], { description: "null: it does not exist" }) }),
  },
  create: {
    summary: "Create a conversation, and optionally send its first message",
    scope: "operator.write",
    params: Strict({
      key: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            "default: a new key. If it exists, the session is returned unless the params ask for other settings (CONFLICT)",
        }),
      ),
      agentId: Type.Optional(
        Type.String({
          minLength: 1,
          description: "default: the agent of the key, of the parent, or the default agent",
        }),
      ),
      idempotencyKey: Type.Optional(
        Type.String({
          minLength: 1,
          description: "a repeated call finds the session and the run that the first call has created",
        }),
      ),
      label: Type.Optional(Label),
      displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
      titleSource: Type.Optional(
        Type.String({ minLength: 1, description: "text from which the display name is made, if none is given" }),
      ),
      category: Type.Optional(Category),
      model: Type.Optional(Type.String({ minLength: 1, description: "provider/model, a model id or an alias" })),
      thinkingLevel: Type.Optional(NonEmpty),
      parentSessionKey: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            "session from which this one is opened: it takes over the model, the levels, the send policy and the command restrictions of the parent",
        }),
      ),
      succeedsParent: Type.Optional(
        Type.Boolean({ description: "accepted with `parentSessionKey`; the parent stays as it is in either case" }),
      ),
      emitCommandHooks: Type.Optional(
        Type.Boolean({ description: "accepted; `sessionStarted` is always emitted for a new session" }),
      ),
      message: Type.Optional(Type.String({ description: "first message for the agent; starts a run" })),
      attachments: Type.Optional(Type.Array(Type.Unknown(), { description: "as those of chat.send" })),
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 0, description: "milliseconds for the run; 0: no limit; default: as in chat.send" }),
      ),
      visibility: Type.Optional(
        Type.Literal("shared", { description: "the only one: every client with operator.read sees all sessions" }),
      ),
      incognito: Unsupported,
      fork: Unsupported,
      worktree: Unsupported,
      contextWindow: Unsupported,
      fastMode: Unsupported,
      permissionMode: Unsupported,
      toolOverrides: Unsupported,
      catalogId: Unsupported,
      spawnDepth: Unsupported,
      forkFrom: Unsupported,
      task: Unsupported,
      mentions: Unsupported,
      projectId: Unsupported,
      projectGitUrl: Unsupported,
      repository: Unsupported,
      worktreeSource: Unsupported,
      worktreeBaseRef: Unsupported,
      worktreeName: Unsupported,
      execNode: Unsupported,
      cwd: Unsupported,
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      key: Type.String({ description: "canonical" }),
      sessionId: Type.String(),
      entry: SessionRecord,
      resolved: Type.Object({ modelProvider: text, model: text }),
      runStarted: Type.Boolean(),
      runId: Type.Optional(Type.String({ description: "run of the first message; its events follow" })),
      runError: Type.Optional(
        Type.Object(
          {
            code: Type.String(),
            message: Type.String(),
            details: Type.Optional(Type.Unknown()),
            retryable: flag,
            retryAfterMs: number,
          },
          { description: "the session exists, but its first message was refused" },
        ),
      ),
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
    params: Strict({
      key: Type.Optional(NonEmpty),
      sessionId: Type.Optional(NonEmpty),
      label: Type.Optional(Label),
      shortId: Type.Optional(
        Type.String({
          pattern: "^[0-9A-Fa-f]{8,32}$",
          description: "first hexadecimal digits, without dashes, of the UUID at the end of a key",
        }),
      ),
      reference: Type.Optional(Type.Object({ key: NonEmpty }, { description: "as `key`" })),
      agentId: Type.Optional(NonEmpty),
      spawnedBy: Type.Optional(NonEmpty),
      includeGlobal: flag,
      includeUnknown: flag,
      allowMissing: Type.Optional(
        Type.Boolean({ description: "`ok: false` instead of an error if none or several sessions match" }),
      ),
    }),
    result: Type.Union([
      Type.Object({ ok: Type.Literal(true), ...Candidate.properties }),
      Type.Object({
        ok: Type.Literal(false),
        candidates: Type.Optional(Type.Array(Candidate, { description: "sessions that match; absent: none" })),
      }),
    ]),
  },
  reset: {
    summary: "Start the conversation over",
    scope: "operator.admin",
    params: Strict({
      key: NonEmpty,
      agentId: AgentOfKey,
      expectedSessionId: ExpectedSessionId,
      reason: Type.Optional(Type.Union([Type.Literal("new"), Type.Literal("reset")])),
    }),
    result: Type.Object({ ok: Type.Literal(true), key: Type.String(), entry: SessionRecord }),
  },
  delete: {
    summary: "Delete a session; its transcript is archived",
    scope: "operator.admin",
    params: Strict({
      key: NonEmpty,
      agentId: AgentOfKey,
      deleteTranscript: flag,
      emitLifecycleHooks: flag,
      expectedSessionId: ExpectedSessionId,
      expectedSessionUpdatedAt: Type.Optional(
        Type.Integer({ description: "epoch ms; refused with CONFLICT if the session was last used at another time" }),
      ),
      expectedLifecycleRevision: Unsupported,
      archivedOnly: Type.Optional(Type.Boolean({ description: "refused unless the session is archived" })),
    }),
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
      agentId: AgentOfKey,
      expectedSessionId: ExpectedSessionId,
      label: Type.Optional(Type.Union([Label, Type.Null()])),
      category: Type.Optional(Type.Union([Category, Type.Null()], { description: "name of a group of sessions" })),
      icon: Type.Optional(
        Type.Union([Type.String({ maxLength: 64 }), Type.Null()], { description: "an emoji or a name; empty: none" }),
      ),
      color: Type.Optional(
        Type.Union([Type.String({ maxLength: 64 }), Type.Null()], { description: "a name; empty: none" }),
      ),
      pinned: Type.Optional(Type.Boolean({ description: "kept by a reset; removed by archiving" })),
      archived: Type.Optional(
        Type.Boolean({ description: "hidden from lists until it is restored or used again; not for main sessions" }),
      ),
      unread: Type.Optional(Type.Boolean({ description: "false: everything until now was read" })),
      expectedMarkedUnreadAt: Type.Optional(
        Type.Union([Type.Integer(), Type.Null()], {
          description:
            "with `unread: false` alone: nothing changes if `markedUnreadAt` of the session is another, null: not marked",
        }),
      ),
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
      fastMode: Unsupported,
      permissionMode: Unsupported,
      toolOverrides: Unsupported,
      traceLevel: Unsupported,
      contextWindow: Unsupported,
      boardFace: Unsupported,
      statusNote: Unsupported,
      attention: Unsupported,
      ttlMinutes: Unsupported,
      completionOwnerSessionKey: Unsupported,
      inheritedToolPolicyVersion: Unsupported,
      inheritedToolAllow: Unsupported,
      inheritedToolDeny: Unsupported,
      expectedLifecycleRevision: Unsupported,
      expectedPermissionMode: Unsupported,
      expectedToolOverrides: Unsupported,
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
      agentId: AgentOfKey,
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

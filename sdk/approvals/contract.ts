/** Approvals: policy files for running commands, and questions that people answer. Spec: protocol/methods-exec-approvals.md, events.md §2, stores.md §7. */
import { defineContract, defineEvent } from "../contract.ts";
import { BoundFile, ExecPolicyFile, ExecPolicySnapshot, SystemRunPlan } from "./exec-schema.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const Time = Type.Integer({ description: "epoch ms" });
const maybe = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const nullable = Type.Union([Type.String(), Type.Null()]);

/** What a person can say. */
export const ApprovalDecision = Type.Enum(["allow-once", "allow-always", "deny"]);
export type ApprovalDecision = Static<typeof ApprovalDecision>;

/** Choice: how long a grant may hold, in milliseconds. */
const MIN_GRANT_MS = 60_000;
const MAX_GRANT_MS = 90 * 86_400_000;

/** What a grant is for: the very thing that was asked, or what the question offers for the session (`request.session`). */
const GrantFor = Type.Enum(["this", "session"]);

/** A grant with an end that a person chose. */
export const ApprovalGrant = Type.Object({ for: GrantFor, expiresAtMs: Time });
export type ApprovalGrant = Static<typeof ApprovalGrant>;

/** What is asked, as approvers see it: names of environment variables, never their values. */
export const ApprovalRequestView = Type.Object({
  command: Type.String(),
  commandArgv: Type.Optional(Type.Array(Type.String())),
  envKeys: Type.Optional(Type.Array(Type.String())),
  digest: Type.Optional(Type.String({ description: "of the exact plan: what is allowed is this and nothing else" })),
  files: Type.Optional(Type.Array(BoundFile, { description: "what is allowed is these bytes and no others" })),
  because: Type.Optional(Type.String({ description: "what makes it a question, e.g. the words that led to it" })),
  session: Type.Optional(
    Type.String({ description: "what a grant for the session would cover; absent: none is offered" }),
  ),
  askedBy: Type.Optional(Type.String({ description: "the plugin or hook that asks; absent: a client" })),
  systemRunBinding: Type.Union([Type.Unknown(), Type.Null()]),
  systemRunPlan: Type.Union([SystemRunPlan, Type.Null()]),
  cwd: nullable,
  nodeId: nullable,
  host: nullable,
  security: nullable,
  ask: nullable,
  agentId: nullable,
  resolvedPath: nullable,
  sessionKey: nullable,
  turnSourceChannel: nullable,
  turnSourceTo: nullable,
  turnSourceAccountId: nullable,
  turnSourceThreadId: Type.Union([Type.String(), Type.Number(), Type.Null()]),
});
export type ApprovalRequestView = Static<typeof ApprovalRequestView>;

/** A question that was asked, and what became of it. */
export const ApprovalRow = Type.Object({
  id: NonEmpty,
  status: Type.Enum(["pending", "decided", "expired"]),
  decision: Type.Optional(ApprovalDecision),
  reason: Type.Optional(
    Type.String({
      description:
        "of an expiry: time, nobody to ask, cancelled, restart; of an allowance that nobody was asked for: a grant allows it",
    }),
  ),
  request: ApprovalRequestView,
  createdAtMs: Time,
  expiresAtMs: Time,
  resolvedAtMs: Type.Optional(Time),
  resolvedBy: Type.Optional(Type.String()),
  usedAtMs: Type.Optional(Time),
  grant: Type.Optional(ApprovalGrant),
});
export type ApprovalRow = Static<typeof ApprovalRow>;

/** Something that somebody allowed for longer than once. */
export const ApprovalGrantRow = Type.Object({
  digest: NonEmpty,
  command: Type.String(),
  kind: Type.String(),
  agentId: nullable,
  sessionKey: nullable,
  nodeId: nullable,
  for: GrantFor,
  createdAtMs: Time,
  expiresAtMs: Time,
  createdBy: Type.Optional(Type.String()),
  lastUsedAtMs: Type.Optional(Time),
});
export type ApprovalGrantRow = Static<typeof ApprovalGrantRow>;

const Decided = Type.Object({
  id: NonEmpty,
  decision: Type.Union([ApprovalDecision, Type.Null()]),
  createdAtMs: Time,
  expiresAtMs: Time,
});

/** Policy files of the gateway and of nodes; all for admins. */
export const execApprovals = defineContract("exec.approvals", {
  get: {
    summary: "The policy file of this gateway",
    scope: "operator.admin",
    params: Strict({}),
    result: ExecPolicySnapshot,
  },
  set: {
    summary: "Replaces the policy file of this gateway",
    scope: "operator.admin",
    params: Strict({ file: ExecPolicyFile, baseHash: Type.Optional(NonEmpty) }),
    result: ExecPolicySnapshot,
  },
  nodeGet: {
    name: "exec.approvals.node.get",
    summary: "The policy file of a node",
    scope: "operator.admin",
    params: Strict({ nodeId: NonEmpty }),
    result: Type.Unknown(),
  },
  nodeSet: {
    name: "exec.approvals.node.set",
    summary: "Replaces the policy file of a node",
    scope: "operator.admin",
    params: Strict({ nodeId: NonEmpty, file: ExecPolicyFile, baseHash: Type.Optional(NonEmpty) }),
    result: Type.Unknown(),
  },
  grants: {
    summary: "What was allowed for longer than once, and until when",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ grants: Type.Array(ApprovalGrantRow) }),
  },
  forget: {
    summary: "Takes back what was allowed for longer than once; it is asked for again",
    scope: "operator.admin",
    params: Strict({ digest: NonEmpty }),
    result: Type.Object({ digest: NonEmpty }),
  },
});

/** Questions people answer. */
export const execApproval = defineContract("exec.approval", {
  request: {
    summary: "Asks people whether a command may run; answers when they have decided",
    scope: "operator.approvals",
    params: Strict({
      id: Type.Optional(NonEmpty),
      command: NonEmpty,
      commandArgv: Type.Optional(Type.Array(Type.String())),
      systemRunPlan: Type.Optional(SystemRunPlan),
      env: Type.Optional(Type.Record(NonEmpty, Type.String())),
      files: Type.Optional(
        Type.Array(BoundFile, { maxItems: 64, description: "for a node: `files` of its system.run.prepare" }),
      ),
      cwd: maybe,
      host: maybe,
      security: maybe,
      ask: maybe,
      agentId: maybe,
      resolvedPath: maybe,
      sessionKey: maybe,
      turnSourceChannel: maybe,
      turnSourceTo: maybe,
      turnSourceAccountId: maybe,
      nodeId: Type.Optional(Type.Union([NonEmpty, Type.Null()])),
      turnSourceThreadId: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 1, description: "default 120000" })),
      twoPhase: Type.Optional(Type.Boolean()),
    }),
    result: Decided,
  },
  waitDecision: {
    summary: "Waits for the decision about a question",
    scope: "operator.approvals",
    params: Type.Object({ id: Type.Optional(Type.Unknown()) }),
    result: Decided,
  },
  resolve: {
    summary: "Decides: allow-once, allow-always or deny. The first decision counts",
    scope: "operator.approvals",
    answers: true,
    params: Strict({
      id: NonEmpty,
      decision: NonEmpty,
      grant: Type.Optional(
        Strict(
          {
            for: Type.Optional(GrantFor),
            durationMs: Type.Optional(
              Type.Integer({
                minimum: MIN_GRANT_MS,
                maximum: MAX_GRANT_MS,
                description: "default 90 days; for the session 1 h, at most 24 h",
              }),
            ),
          },
          { description: "only with allow-always: for what, and for how long; default: this, 90 days" },
        ),
      ),
    }),
    result: Type.Object({ ok: Type.Literal(true) }),
  },
  list: {
    summary: "Questions that wait, and what became of the latest others",
    scope: "operator.approvals",
    params: Strict({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "default 50" })) }),
    result: Type.Object({
      approvals: Type.Array(ApprovalRow),
      approvers: Type.Optional(
        Type.Object(
          {
            connected: Type.Integer({ description: "connections that could decide now, beside the caller's" }),
            listed: Type.Optional(Type.Array(Type.String(), { description: "approvals.approvers, where it is set" })),
          },
          { description: "for admins" },
        ),
      ),
    }),
  },
});

/** A question waits for an answer. */
export const execApprovalRequested = defineEvent({
  name: "exec.approval.requested",
  summary: "Somebody has to allow or deny something",
  payload: Type.Object({ id: NonEmpty, request: ApprovalRequestView, createdAtMs: Time, expiresAtMs: Time }),
  scope: "operator.approvals",
  droppable: true,
});

/** A question was answered. */
export const execApprovalResolved = defineEvent({
  name: "exec.approval.resolved",
  summary: "Something was allowed or denied",
  payload: Type.Object({
    id: NonEmpty,
    decision: ApprovalDecision,
    resolvedBy: Type.Optional(Type.String()),
    ts: Time,
    request: ApprovalRequestView,
    grant: Type.Optional(ApprovalGrant),
  }),
  scope: "operator.approvals",
  droppable: true,
});

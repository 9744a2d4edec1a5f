/**
 * Approvals: policy files for running commands, and approval requests decided by people. Spec:
 * protocol/methods-exec-approvals.md, events.md §2, stores.md §7.
 */
import { defineContract, defineEvent } from "../contract.ts";
import { BoundFile, ExecPolicyFile, ExecPolicySnapshot, SystemRunPlan } from "./exec-schema.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const Time = Type.Integer({ description: "epoch ms" });
const maybe = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const nullable = Type.Union([Type.String(), Type.Null()]);

/** Possible decisions. */
export const ApprovalDecision = Type.Enum(["allow-once", "allow-always", "deny"]);
export type ApprovalDecision = Static<typeof ApprovalDecision>;

/** Choice: minimum and maximum duration of a grant, in milliseconds. */
const MIN_GRANT_MS = 60_000;
const MAX_GRANT_MS = 90 * 86_400_000;

/** What a grant covers: exactly this request, or what the request offers for the session (`request.session`). */
const GrantFor = Type.Enum(["this", "session"]);

/** A grant with an expiry chosen by a person. */
export const ApprovalGrant = Type.Object({ for: GrantFor, expiresAtMs: Time });
export type ApprovalGrant = Static<typeof ApprovalGrant>;

/** The request as approvers see it: names of environment variables, never their values. */
export const ApprovalRequestView = Type.Object({
  command: Type.String(),
  commandArgv: Type.Optional(Type.Array(Type.String())),
  envKeys: Type.Optional(Type.Array(Type.String())),
  digest: Type.Optional(Type.String({ description: "hash of the exact plan; an approval covers this plan only" })),
  files: Type.Optional(Type.Array(BoundFile, { description: "an approval covers exactly these file contents" })),
  because: Type.Optional(
    Type.String({ description: "why approval is needed, e.g. the external content that led to the request" }),
  ),
  session: Type.Optional(
    Type.String({ description: "what a grant for the session would cover; absent: none is offered" }),
  ),
  askedBy: Type.Optional(Type.String({ description: "the plugin or hook that requests approval; absent: a client" })),
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

/** An approval request and its outcome. */
export const ApprovalRow = Type.Object({
  id: NonEmpty,
  status: Type.Enum(["pending", "decided", "expired"]),
  decision: Type.Optional(ApprovalDecision),
  reason: Type.Optional(
    Type.String({
      description:
        "for expired requests: time, nobody to ask, cancelled, restart; for requests allowed without asking: a grant allows it",
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

/** A grant: something that was allowed beyond a single use. */
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

/** A question that waits for a decision. */
export const PendingApproval = Type.Object({
  id: NonEmpty,
  request: ApprovalRequestView,
  createdAtMs: Time,
  expiresAtMs: Time,
});
export type PendingApproval = Static<typeof PendingApproval>;

const Decided = Type.Object({
  id: NonEmpty,
  decision: Type.Union([ApprovalDecision, Type.Null()]),
  createdAtMs: Time,
  expiresAtMs: Time,
});

/** Policy files of the gateway and of nodes, and grants; for admins only. */
export const execApprovals = defineContract("exec.approvals", {
  get: {
    summary: "Get the policy file of this gateway",
    scope: "operator.admin",
    params: Strict({}),
    result: ExecPolicySnapshot,
  },
  set: {
    summary: "Replace the policy file of this gateway",
    scope: "operator.admin",
    params: Strict({ file: ExecPolicyFile, baseHash: Type.Optional(NonEmpty) }),
    result: ExecPolicySnapshot,
  },
  nodeGet: {
    name: "exec.approvals.node.get",
    summary: "Get the policy file of a node",
    scope: "operator.admin",
    params: Strict({ nodeId: NonEmpty }),
    result: Type.Unknown(),
  },
  nodeSet: {
    name: "exec.approvals.node.set",
    summary: "Replace the policy file of a node",
    scope: "operator.admin",
    params: Strict({ nodeId: NonEmpty, file: ExecPolicyFile, baseHash: Type.Optional(NonEmpty) }),
    result: Type.Unknown(),
  },
  grants: {
    summary: "List all grants and when they expire",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ grants: Type.Array(ApprovalGrantRow) }),
  },
  forget: {
    summary: "Revoke a grant; the command needs approval again",
    scope: "operator.admin",
    params: Strict({ digest: NonEmpty }),
    result: Type.Object({ digest: NonEmpty }),
  },
});

/** Approval requests and their decisions. */
export const execApproval = defineContract("exec.approval", {
  request: {
    summary: "Request approval for a command; responds once it is decided",
    scope: "operator.approvals",
    params: Strict({
      id: Type.Optional(NonEmpty),
      command: NonEmpty,
      commandArgv: Type.Optional(Type.Array(Type.String())),
      systemRunPlan: Type.Optional(SystemRunPlan),
      env: Type.Optional(Type.Record(NonEmpty, Type.String())),
      files: Type.Optional(
        Type.Array(BoundFile, { maxItems: 64, description: "for a node: `files` from its system.run.prepare" }),
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
      timeoutMs: Type.Optional(Type.Integer({ minimum: 1, description: "milliseconds; default 120000" })),
      twoPhase: Type.Optional(Type.Boolean()),
    }),
    result: Decided,
  },
  waitDecision: {
    summary: "Wait for the decision on an approval request",
    scope: "operator.approvals",
    params: Type.Object({ id: Type.Optional(Type.Unknown()) }),
    result: Decided,
  },
  resolve: {
    summary: "Decide a request: allow-once, allow-always or deny; the first decision counts",
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
          { description: "only with allow-always: what the grant covers and for how long; default: this, 90 days" },
        ),
      ),
    }),
    result: Type.Object({ ok: Type.Literal(true) }),
  },
  list: {
    summary: "List pending approval requests and the latest decided ones",
    scope: "operator.approvals",
    params: Strict({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "default 50" })) }),
    result: Type.Object({
      approvals: Type.Array(ApprovalRow),
      approvers: Type.Optional(
        Type.Object(
          {
            connected: Type.Integer({ description: "other connections that could decide now" }),
            listed: Type.Optional(Type.Array(Type.String(), { description: "approvals.approvers, if set" })),
          },
          { description: "for admins" },
        ),
      ),
    }),
  },
});

/** Approvals in the form of plugins that publish their own kind. */
export const pluginApproval = defineContract("plugin.approval", {
  list: {
    summary:
      "List pending approvals of this kind: none; plugins ask with exec.approval.request, see exec.approval.list",
    scope: "operator.approvals",
    params: Strict({}),
    result: Type.Array(PendingApproval, { maxItems: 0 }),
  },
});

/** Questions that agents ask people, other than approvals. */
export const question = defineContract("question", {
  list: {
    summary: "List questions of agents to people: none; agents of this gateway ask in their chats",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ questions: Type.Array(Type.Object({ id: NonEmpty }), { maxItems: 0 }) }),
  },
});

/** An approval request is pending. */
export const execApprovalRequested = defineEvent({
  name: "exec.approval.requested",
  summary: "An approval request is pending",
  payload: PendingApproval,
  scope: "operator.approvals",
  droppable: true,
});

/** An approval request was decided. */
export const execApprovalResolved = defineEvent({
  name: "exec.approval.resolved",
  summary: "An approval request was allowed or denied",
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

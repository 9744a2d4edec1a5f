/** Questions and lasting answers as rows. No value of an environment variable is in them. */
import { matches } from "@svc/sdk";
import {
  ApprovalDecision,
  type ApprovalGrantRow,
  type ApprovalRequestView,
  type ApprovalRow,
  type SystemRunPlan,
} from "@svc/sdk/approvals";
import type { Retention, Row, SqlValue, Statement } from "@svc/sdk/storage";
import type { Asked } from "./asking.ts";

export const STEPS = [
  `CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    decision TEXT,
    reason TEXT,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    request TEXT NOT NULL,
    plan TEXT,
    env_hash TEXT,
    node_id TEXT,
    requester_principal TEXT NOT NULL,
    requester_device TEXT,
    requester_connection TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    resolved_at BIGINT,
    used_at BIGINT,
    resolved_by TEXT,
    resolved_principal TEXT
  )`,
  "CREATE INDEX approvals_pending ON approvals (created_at) WHERE status = 'pending'",
  "CREATE INDEX approvals_created ON approvals (created_at)",
  `CREATE TABLE approval_grants (
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    command TEXT NOT NULL,
    agent_id TEXT,
    session_key TEXT,
    node_id TEXT,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    last_used_at BIGINT,
    PRIMARY KEY (kind, digest)
  )`,
];

/** Choice: the time, and the number. */
export const APPROVAL_RETENTION: Retention = {
  tables: ["approvals"],
  holds: "questions whether something may run, and the answers",
  rule: "30 days; the newest 10,000; never one that is pending",
  rows: [
    {
      table: "approvals",
      key: ["id"],
      at: "created_at",
      only: "status <> 'pending'",
      olderThanMs: 30 * 86_400_000,
      most: 10_000,
    },
  ],
};

export const GRANT_RETENTION: Retention = {
  tables: ["approval_grants"],
  holds: "what was allowed always",
  rule: "until removed: svc approvals forget",
};

/** Who asked: a device where one was proven, else a connection, else whoever called within the gateway. */
export interface Requester {
  readonly principalId: string;
  readonly deviceId: string | null;
  readonly connectionId: string | null;
}

/** Why nobody decided. */
export type ExpiryReason = "time" | "nobody to ask" | "cancelled" | "restart";

/** A question as it is recorded. Times in epoch ms. */
export interface ApprovalRecord extends Asked {
  readonly id: string;
  readonly status: ApprovalRow["status"];
  readonly decision: ApprovalDecision | null;
  readonly reason: string | null;
  readonly requester: Requester;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly resolvedAt: number | null;
  readonly resolvedBy: string | null;
  readonly usedAt: number | null;
}

/** A decision, and who made it: as shown, and by immutable id. */
export interface Decision {
  readonly decision: ApprovalDecision;
  readonly by: string;
  readonly principalId: string;
}

/** Changes nothing for an id that is known. */
export function insertRecord(record: ApprovalRecord): Statement {
  const { requester, plan, view } = record;
  const columns: Record<string, SqlValue> = {
    id: record.id,
    status: record.status,
    decision: record.decision,
    reason: record.reason,
    kind: record.kind,
    digest: record.digest,
    request: JSON.stringify(view),
    plan: plan && JSON.stringify(plan),
    env_hash: record.envHash,
    node_id: view.nodeId,
    requester_principal: requester.principalId,
    requester_device: requester.deviceId,
    requester_connection: requester.connectionId,
    created_at: record.createdAt,
    expires_at: record.expiresAt,
    resolved_at: record.resolvedAt,
  };
  const places = Object.keys(columns).map(() => "?");
  return {
    sql: `INSERT INTO approvals (${Object.keys(columns).join(", ")}) VALUES (${places.join(", ")}) ON CONFLICT (id) DO NOTHING`,
    params: Object.values(columns),
  };
}

/** Keeps an answer for good. Somebody may have allowed the same before: the latest counts. */
export function insertGrant({ kind, digest, view }: ApprovalRecord, by: string, now: number): Statement {
  const { command, agentId, sessionKey, nodeId } = view;
  return {
    sql: `INSERT INTO approval_grants (kind, digest, command, agent_id, session_key, node_id, created_at, created_by)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, digest) DO UPDATE SET created_at = excluded.created_at, created_by = excluded.created_by`,
    params: [kind, digest, command, agentId, sessionKey, nodeId, now, by],
  };
}

export function toRecord(row: Row): ApprovalRecord {
  const plan = text(row["plan"]);
  const decision = text(row["decision"]);
  return {
    id: String(row["id"]),
    status: statusOf(row["status"]),
    decision: matches(ApprovalDecision, decision) ? decision : null,
    reason: text(row["reason"]),
    kind: String(row["kind"]),
    digest: String(row["digest"]),
    // Both were written by `insertRecord`.
    view: JSON.parse(String(row["request"])) as ApprovalRequestView,
    plan: plan === null ? null : (JSON.parse(plan) as SystemRunPlan),
    envHash: text(row["env_hash"]),
    requester: {
      principalId: String(row["requester_principal"]),
      deviceId: text(row["requester_device"]),
      connectionId: text(row["requester_connection"]),
    },
    createdAt: Number(row["created_at"]),
    expiresAt: Number(row["expires_at"]),
    resolvedAt: time(row["resolved_at"]),
    resolvedBy: text(row["resolved_by"]),
    usedAt: time(row["used_at"]),
  };
}

export function toGrant(row: Row): ApprovalGrantRow {
  const [by, usedAt] = [text(row["created_by"]), time(row["last_used_at"])];
  return {
    digest: String(row["digest"]),
    command: String(row["command"]),
    kind: String(row["kind"]),
    agentId: text(row["agent_id"]),
    sessionKey: text(row["session_key"]),
    nodeId: text(row["node_id"]),
    createdAtMs: Number(row["created_at"]),
    ...(by !== null && { createdBy: by }),
    ...(usedAt !== null && { lastUsedAtMs: usedAt }),
  };
}

/** As `exec.approval.list` shows it. */
export function toListed(record: ApprovalRecord): ApprovalRow {
  const { id, status, decision, reason, view, createdAt, expiresAt, resolvedAt, resolvedBy, usedAt } = record;
  return {
    id,
    status,
    request: view,
    createdAtMs: createdAt,
    expiresAtMs: expiresAt,
    ...(decision !== null && { decision }),
    ...(reason !== null && { reason }),
    ...(resolvedAt !== null && { resolvedAtMs: resolvedAt }),
    ...(resolvedBy !== null && { resolvedBy }),
    ...(usedAt !== null && { usedAtMs: usedAt }),
  };
}

function statusOf(value: SqlValue | undefined): ApprovalRow["status"] {
  return value === "pending" || value === "decided" ? value : "expired";
}

function text(value: SqlValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function time(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

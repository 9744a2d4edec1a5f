/** Questions and grants as database rows. They contain no values of environment variables. */
import { matches } from "@svc/sdk";
import {
  ApprovalDecision,
  type ApprovalGrant,
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
  "ALTER TABLE approvals ADD COLUMN session_digest TEXT",
  "ALTER TABLE approvals ADD COLUMN granted TEXT",
  "ALTER TABLE approval_grants ADD COLUMN grant_for TEXT NOT NULL DEFAULT 'this'",
  "ALTER TABLE approval_grants ADD COLUMN decision TEXT NOT NULL DEFAULT 'allow-always'",
  "ALTER TABLE approval_grants ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0",
  // Choice: grants from before the column existed expire 90 days after they were given.
  "UPDATE approval_grants SET expires_at = created_at + 7776000000",
  "CREATE INDEX approval_grants_expires ON approval_grants (expires_at)",
  "ALTER TABLE approvals ADD COLUMN owner TEXT",
];

/** Choice: both limits. */
export const APPROVAL_RETENTION: Retention = {
  tables: ["approvals"],
  holds: "approval requests and their decisions",
  rule: "30 days; newest 10,000; pending requests are never deleted",
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
  holds: "permissions that outlast one run",
  rule: "until it expires: 90 days after it was granted, or sooner if a person chose so; remove earlier: svc approvals forget",
  rows: [{ table: "approval_grants", key: ["kind", "digest"], at: "expires_at", olderThanMs: 0 }],
};

/** The requester: a device if one was proven, else a connection, else the principal of a call inside the gateway. */
export interface Requester {
  readonly principalId: string;
  readonly deviceId: string | null;
  readonly connectionId: string | null;
}

/** Why a question expired without a decision. */
export type ExpiryReason = "time" | "nobody to ask" | "cancelled" | "restart";

/** A stored question. Times in epoch ms. */
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
  /** Grant given with the decision, when its end was chosen. */
  readonly grant: ApprovalGrant | null;
  /** Where its requester waits, as the id of an `Owner`. */
  readonly owner: string | null;
}

/** A decision, with the approver's display name and immutable id. */
export interface Decision {
  /** Decision reported to the requester. */
  readonly decision: ApprovalDecision;
  /** Absent: `allow-always` creates a grant for this digest and 90 days; other decisions create none. */
  readonly grant?: ApprovalGrant | undefined;
  readonly by: string;
  readonly principalId: string;
}
/** No effect when the id exists already. */
export function insertRecord(record: ApprovalRecord): Statement {
  const { requester, plan, view } = record;
  const columns: Record<string, SqlValue> = {
    id: record.id,
    status: record.status,
    decision: record.decision,
    reason: record.reason,
    kind: record.kind,
    digest: record.digest,
    session_digest: record.sessionDigest,
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
    owner: record.owner,
  };
  const places = Object.keys(columns).map(() => "?");
  return {
    sql: `INSERT INTO approvals (${Object.keys(columns).join(", ")}) VALUES (${places.join(", ")}) ON CONFLICT (id) DO NOTHING`,
    params: Object.values(columns),
  };
}

/** Stores a grant, replacing an earlier one for the same digest. @param grant `for: "session"` only when the question offers it */
export function insertGrant(
  { kind, digest, sessionDigest, view }: ApprovalRecord,
  { decision, by }: Decision,
  { for: what, expiresAtMs }: ApprovalGrant,
  now: number,
): Statement {
  const { command, session = "", agentId, sessionKey, nodeId } = view;
  const covered = what === "session" ? [sessionDigest, session] : [digest, command];
  return {
    sql: `INSERT INTO approval_grants
        (kind, digest, command, agent_id, session_key, node_id, created_at, created_by, grant_for, decision, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, digest) DO UPDATE SET created_at = excluded.created_at, created_by = excluded.created_by,
        decision = excluded.decision, expires_at = excluded.expires_at`,
    params: [kind, ...covered, agentId, sessionKey, nodeId, now, by, what, decision, expiresAtMs],
  };
}

export function toRecord(row: Row): ApprovalRecord {
  const plan = text(row["plan"]);
  const granted = text(row["granted"]);
  return {
    id: String(row["id"]),
    status: statusOf(row["status"]),
    decision: toDecision(row),
    reason: text(row["reason"]),
    kind: String(row["kind"]),
    digest: String(row["digest"]),
    sessionDigest: text(row["session_digest"]),
    // All JSON columns were written by this file and the store.
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
    grant: granted === null ? null : (JSON.parse(granted) as ApprovalGrant),
    owner: text(row["owner"]),
  };
}

export function toDecision(row: Row): ApprovalDecision | null {
  const decision = text(row["decision"]);
  return matches(ApprovalDecision, decision) ? decision : null;
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
    for: row["grant_for"] === "session" ? "session" : "this",
    createdAtMs: Number(row["created_at"]),
    expiresAtMs: Number(row["expires_at"]),
    ...(by !== null && { createdBy: by }),
    ...(usedAt !== null && { lastUsedAtMs: usedAt }),
  };
}

/** The row that `exec.approval.list` returns. */
export function toListed(record: ApprovalRecord): ApprovalRow {
  const { id, status, decision, reason, view, createdAt, expiresAt, resolvedAt, resolvedBy, usedAt, grant } = record;
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
    ...(grant !== null && { grant }),
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

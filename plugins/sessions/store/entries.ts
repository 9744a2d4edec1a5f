/** Session entries: conversion from and to rows, patches, resets. Pure. Spec: protocol/stores.md §1. */
import { GatewayError, invalidRequest } from "@svc/sdk";
import type { ModelDefaults } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Row } from "@svc/sdk/storage";
import type { DamageLog } from "./damage.ts";

/** A row of the table `sessions`. `sessionId`, `updatedAt` and `label` are columns only, so that they cannot differ. */
export interface SessionTableRow extends Row {
  readonly key: string;
  readonly session_id: string;
  readonly updated_at: number;
  readonly label: string | null;
  /** JSON object with the other fields. */
  readonly entry: string;
}

export interface StoredSession {
  readonly key: string;
  readonly entry: SessionEntry;
}

export type { ModelDefaults };

/** The model of entries without one. @param key canonical: the default of its agent; absent: that of the default agent */
export type DefaultsOf = (key?: string) => ModelDefaults;

/** Parameters of the merge statement. */
export interface EntryPatch {
  /** JSON merge patch applied first: removes the fields that are replaced as a whole. */
  readonly drop: string;
  /** JSON merge patch applied second. */
  readonly merge: string;
  /** Absent: the label stays. */
  readonly label?: { readonly value: string | null };
  /** epoch ms; absent: now */
  readonly updatedAt?: number;
  /** Required session id. */
  readonly sessionId?: string;
}

const COLUMNS: ReadonlySet<string> = new Set(["sessionId", "updatedAt", "label"]);

/**
 * Settings that restrict commands. Choice: they stay until a client with `operator.admin` clears them. The contract, where they
 * may also widen, drops them at a reset; here any sender who may write `/new`, and the daily expiry, would lift a protection.
 */
const NARROWING = ["elevatedLevel", "execHost", "execSecurity", "execAsk", "execNode"] as const;

/** The place of a session in lists. Choice: it stays over resets and expiry, as it is not about the conversation. */
const PLACE = ["category", "icon", "color", "pinnedAt", "parentSessionKey"] as const;

/**
 * Fields that a session takes over from the one it was opened from. Choice: the restrictions of commands, too, so that nobody
 * lifts them by opening another session.
 */
const INHERITED = [
  ...NARROWING,
  "sendPolicy",
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "responseUsage",
  "modelOverride",
  "providerOverride",
] as const;

/** Fields a reset keeps. Spec: methods-sessions.md §6. */
const KEPT = [
  ...NARROWING,
  ...PLACE,
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "responseUsage",
  "contextTokens",
  "sendPolicy",
  "label",
  "origin",
  "lastChannel",
  "lastTo",
  "skillsSnapshot",
] as const;

/** Fields that an expired session keeps: address, lineage and policies. */
const KEPT_ON_EXPIRY = [
  ...NARROWING,
  ...PLACE,
  "lastReadAt",
  "markedUnreadAt",
  "displayName",
  "spawnedBy",
  "spawnDepth",
  "chatType",
  "channel",
  "groupId",
  "subject",
  "groupChannel",
  "space",
  "origin",
  "deliveryContext",
  "lastChannel",
  "lastTo",
  "lastAccountId",
  "lastThreadId",
  "sendPolicy",
  "groupActivation",
  "queueMode",
  "queueDebounceMs",
  "queueCap",
  "queueDrop",
  "contextTokens",
  "skillsSnapshot",
] as const;

/** A damaged entry counts as empty and is reported; its columns are still valid. */
export function toSession(row: SessionTableRow, damage: Pick<DamageLog, "entry">): StoredSession {
  const stored = parsed(row.entry);
  if (!stored) damage.entry(row.key);
  const label = row.label === null ? {} : { label: row.label };
  return { key: row.key, entry: { ...stored, ...label, sessionId: row.session_id, updatedAt: row.updated_at } };
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isEntry = typeof value === "object" && value !== null && !Array.isArray(value);
    return isEntry ? (value as Record<string, unknown>) : undefined; // only `mergeable` and `columnsOf` write this column
  } catch {
    return undefined;
  }
}

/** The columns of an entry that is stored as a whole. */
export function columnsOf(entry: SessionEntry): { readonly label: string | null; readonly json: string } {
  const others = Object.entries(entry).filter(([field]) => !COLUMNS.has(field));
  return { label: entry.label ?? null, json: JSON.stringify(Object.fromEntries(others)) };
}

/**
 * `undefined` and `null` remove a field, anything else replaces it as a whole: an object is not merged into
 * the old one. Choice: a `null` inside an object value is dropped, as a JSON merge patch does.
 * @throws GatewayError `INVALID_REQUEST` for a label with U+0000 (choice), which a column cannot hold
 */
export function mergeable(patch: Partial<SessionEntry>): EntryPatch {
  const { sessionId, updatedAt, label } = patch;
  if (label?.includes("\0")) invalidRequest("the label has the character U+0000; use printable characters");
  const others = Object.entries(patch).filter(([field]) => !COLUMNS.has(field));
  const objects = others.filter(([, value]) => typeof value === "object" && !Array.isArray(value));
  return {
    drop: JSON.stringify(Object.fromEntries(objects.map(([field]) => [field, null]))),
    merge: JSON.stringify(Object.fromEntries(others.map(([field, value]) => [field, value ?? null]))),
    ...("label" in patch && { label: { value: label ?? null } }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

/** The model of a session: the last used one, else the chosen one, else the default. Absent parts are unknown. */
export function modelOf(
  entry: Partial<SessionEntry>,
  defaults: ModelDefaults,
): { readonly modelProvider?: string; readonly model?: string } {
  if (entry.model) return pair(entry.modelProvider, entry.model);
  if (entry.modelOverride) return pair(entry.providerOverride ?? defaults.modelProvider, entry.modelOverride);
  return pair(defaults.modelProvider, defaults.model);
}

function pair(modelProvider: string | null | undefined, model: string | null) {
  return { ...(modelProvider && { modelProvider }), ...(model && { model }) };
}

interface FreshOptions {
  readonly sessionId: string;
  /** epoch ms */
  readonly now: number;
}

/**
 * Archived, and not used since. Choice: a session that is used again leaves the archive by itself, so that no message is hidden
 * from people; no write is needed.
 */
export function isArchived({ archivedAt, updatedAt }: SessionEntry): boolean {
  return typeof archivedAt === "number" && archivedAt >= updatedAt;
}

/** Choice: a session that nobody has marked as read counts as read. */
export function isUnread({ lastReadAt, markedUnreadAt, updatedAt }: SessionEntry): boolean {
  return typeof markedUnreadAt === "number" || (typeof lastReadAt === "number" && updatedAt > lastReadAt);
}

/** @throws GatewayError `CONFLICT` when the session has another id than the caller expects; absent: any */
export function checkSessionId(key: string, entry: SessionEntry | undefined, expected: string | undefined): void {
  if (expected === undefined || entry?.sessionId === expected) return;
  throw new GatewayError("CONFLICT", `session "${key}" was reset or deleted meanwhile; read it again`);
}

/** Settings for a session that is opened from `parent`. */
export function inheritedFields(parent: SessionEntry | undefined): object {
  return picked(parent, INHERITED);
}

/** Token counters of a conversation without messages. */
const NO_TOKENS = { inputTokens: 0, outputTokens: 0, totalTokens: 0, totalTokensFresh: true };

/** The entry after a reset: `KEPT` of the old one, its model, no tokens. Spec: methods-sessions.md §6. */
export function freshEntry(
  old: SessionEntry | undefined,
  { sessionId, now, defaults }: FreshOptions & { readonly defaults: ModelDefaults },
): SessionEntry {
  return { ...picked(old, KEPT), ...modelOf(old ?? {}, defaults), ...NO_TOKENS, sessionId, updatedAt: now };
}

/**
 * The entry after an expiry. Unlike a reset, it drops levels, model and label. Spec:
 * sessions-routing.md §5. Choice: it keeps address, lineage and policies, which the spec leaves open.
 */
export function expiredEntry(old: SessionEntry, { sessionId, now }: FreshOptions): SessionEntry {
  return { ...picked(old, KEPT_ON_EXPIRY), ...NO_TOKENS, sessionId, updatedAt: now };
}

function picked(entry: SessionEntry | undefined, fields: readonly string[]): object {
  return Object.fromEntries(
    fields.filter((field) => entry?.[field] !== undefined).map((field) => [field, entry?.[field]]),
  );
}

/** Push registrations of nodes. Spec: protocol/stores.md §9, `push/apns-registrations.json`. */
import type { Retention, Storage } from "@svc/sdk/storage";
import { textField } from "../values.ts";

/** Choice: hexadecimal tokens of the push service, and topics that are app names. */
const TOKEN = /^[0-9a-fA-F]{32,512}$/;
const TOPIC = /^[\w.-]{1,255}$/;

/** Push address of a node. */
export interface PushRegistration {
  readonly token: string;
  readonly topic: string;
  readonly environment: "sandbox" | "production";
}

/** `undefined`: not a valid registration. */
export function readRegistration(fields: Readonly<Record<string, unknown>>): PushRegistration | undefined {
  const [token = "", topic = "", environment] = ["token", "topic", "environment"].map((key) => textField(fields, key));
  if (!TOKEN.test(token) || !TOPIC.test(topic)) return undefined;
  return environment === "sandbox" || environment === "production" ? { token, topic, environment } : undefined;
}

/** Stores the registration, replacing the node's previous one. @param now epoch ms */
export async function keepRegistration(
  storage: Pick<Storage, "transaction">,
  nodeId: string,
  { token, topic, environment }: PushRegistration,
  now: number,
): Promise<void> {
  await storage.transaction([
    {
      sql: `INSERT INTO nodes_push (node_id, token, topic, environment, updated_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (node_id) DO UPDATE SET token = excluded.token, topic = excluded.topic,
          environment = excluded.environment, updated_at = excluded.updated_at`,
      params: [nodeId, token, topic, environment, now],
    },
  ]);
}

/** @returns `undefined`: the node has not registered */
export async function registrationOf(
  storage: Pick<Storage, "get">,
  nodeId: string,
): Promise<PushRegistration | undefined> {
  const sql = "SELECT token, topic, environment FROM nodes_push WHERE node_id = ?";
  return storage.get<{ token: string; topic: string; environment: PushRegistration["environment"] }>(sql, [nodeId]);
}

/** Deletes a registration, unless the node has registered another token meanwhile. */
export async function forgetRegistration(
  storage: Pick<Storage, "transaction">,
  nodeId: string,
  token: string,
): Promise<void> {
  const sql = "DELETE FROM nodes_push WHERE node_id = ? AND token = ?";
  await storage.transaction([{ sql, params: [nodeId, token] }]);
}

/** Choice: 90 days. An app registers again each time it connects. */
export const PUSH_RETENTION: Retention = {
  tables: ["nodes_push"],
  holds: "push addresses of nodes",
  rule: "90 days after the last registration; within an hour after the device was removed",
  rows: [{ table: "nodes_push", key: ["node_id"], at: "updated_at", olderThanMs: 90 * 86_400_000 }],
};

/** Deletes addresses of devices that are no longer paired. @returns how many were or would be deleted */
export async function forgetRemoved(
  storage: Pick<Storage, "all" | "transaction">,
  paired: readonly { readonly deviceId: string }[],
  dryRun: boolean,
): Promise<number> {
  const known = new Set(paired.map(({ deviceId }) => deviceId));
  const rows = await storage.all<{ node_id: string }>("SELECT node_id FROM nodes_push");
  const gone = rows.filter(({ node_id: id }) => !known.has(id));
  if (dryRun || gone.length === 0) return gone.length;
  const sql = "DELETE FROM nodes_push WHERE node_id = ?";
  await storage.transaction(gone.map(({ node_id: id }) => ({ sql, params: [id] })));
  return gone.length;
}

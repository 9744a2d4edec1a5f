/** Where pushes to nodes go, as they registered it. Spec: protocol/stores.md §9, `push/apns-registrations.json`. */
import type { Storage } from "@svc/sdk/storage";
import { textField } from "./values.ts";

/** Choice: hexadecimal tokens of the push service, and topics that are names of apps. */
const TOKEN = /^[0-9a-fA-F]{32,512}$/;
const TOPIC = /^[\w.-]{1,255}$/;

/** Where pushes to a node go. */
export interface PushRegistration {
  readonly token: string;
  readonly topic: string;
  readonly environment: "sandbox" | "production";
}

/** `undefined`: it is none. */
export function readRegistration(fields: Readonly<Record<string, unknown>>): PushRegistration | undefined {
  const [token = "", topic = "", environment] = ["token", "topic", "environment"].map((key) => textField(fields, key));
  if (!TOKEN.test(token) || !TOPIC.test(topic)) return undefined;
  return environment === "sandbox" || environment === "production" ? { token, topic, environment } : undefined;
}

/** Keeps it in the place of the node's former one. @param now epoch ms */
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

/** Sessions and messages with usage, written into the database of a running gateway: fast enough for many thousands. */
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";

export interface SeededMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
  /** Of an answer: provider, model, tokens and dollars. */
  readonly usage?: {
    readonly provider: string;
    readonly model: string;
    readonly tokens: number;
    readonly dollars: number;
  };
}

export interface SeededSession {
  readonly key: string;
  readonly label?: string;
  /** Epoch ms. */
  readonly updatedAt: number;
  /** Further fields of its entry. */
  readonly entry?: object;
  readonly messages?: readonly SeededMessage[];
}

/** @param stateDir of a gateway that runs, so that its tables exist */
export function seedSessions(stateDir: string, sessions: readonly SeededSession[]): void {
  const database = new DatabaseSync(join(stateDir, "plugins/storage-sqlite/svc.db"));
  database.exec("pragma busy_timeout = 10000");
  const session = database.prepare(
    "insert into sessions (key, agent_id, session_id, updated_at, label, listed, entry) values (?, ?, ?, ?, ?, 1, ?)",
  );
  const message = database.prepare(
    "insert into transcript (session_id, seq, id, role, created_at, body) values (?, ?, ?, ?, ?, ?)",
  );
  database.exec("begin");
  for (const [index, { key, label = null, updatedAt, entry = {}, messages = [] }] of sessions.entries()) {
    const id = `seeded-${index}`;
    session.run(key, key.split(":")[1] ?? "", id, updatedAt, label, JSON.stringify(entry));
    for (const [at, one] of messages.entries())
      message.run(id, at + 1, `${id}-${at}`, one.role, one.at, JSON.stringify(bodyOf(one)));
  }
  database.exec("commit");
  database.close();
}

function bodyOf({ role, text, at, usage }: SeededMessage): object {
  const content = [{ type: "text", text }];
  if (!usage) return { role, content, timestamp: at };
  const { provider, model, tokens, dollars } = usage;
  const cost = { input: dollars, output: 0, cacheRead: 0, cacheWrite: 0, total: dollars };
  return {
    role,
    content,
    timestamp: at,
    api: "x",
    provider,
    model,
    stopReason: "stop",
    usage: { input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: tokens, cost },
  };
}

/** Sends `session.message` to the connections that follow a session. Spec: protocol 4 §3. */
import { type ConnectionInfo, type Handlers, invalidRequest, type Logger, type PayloadOf } from "@svc/sdk";
import type { sessionMessage, sessionMessages } from "@svc/sdk/chat";
import type { SessionChange, Sessions, TranscriptItem } from "@svc/sdk/sessions";
import { refuseOtherAgent } from "./reading.ts";

/** Choice: sessions that one connection may follow at once. */
const MOST_SESSIONS = 1_000;
/** Messages among which new ones are looked for: several may have been added since. */
const TAIL = 50;

export interface FollowersOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf" | "row" | "page">;
  readonly log: Pick<Logger, "warn">;
  /** The row of chat.history; `undefined`: the message is not shown. */
  readonly rowOf: (item: TranscriptItem) => object | undefined;
  readonly emit: (payload: PayloadOf<typeof sessionMessage>, audience: { connections: readonly string[] }) => void;
}

export interface Followers {
  readonly handlers: Handlers<typeof sessionMessages>;
  changed(change: SessionChange): void;
  /** The connection is closed. */
  left(connectionId: string): void;
}

export function createFollowers({ sessions, log, rowOf, emit }: FollowersOptions): Followers {
  /** Connections by session. */
  const followers = new Map<string, Set<string>>();
  /** Messages are told one change after the other, in their order. */
  let telling = Promise.resolve();

  function unfollow(key: string, id: string): void {
    const connections = followers.get(key);
    connections?.delete(id);
    if (connections?.size === 0) followers.delete(key);
  }

  async function tell({ key, messageIds = [] }: SessionChange): Promise<void> {
    const limit = Math.max(TAIL, messageIds.length);
    const [row, { items }] = await Promise.all([sessions.row(key), sessions.page(key, { limit })]);
    const connections = [...(followers.get(key) ?? [])];
    if (row?.sessionId === undefined || connections.length === 0) return;
    const about = { sessionKey: key, agentId: sessions.agentOf(key), sessionId: row.sessionId };
    for (const item of items) {
      const message = messageIds.includes(item.id) ? rowOf(item) : undefined;
      if (!message) continue;
      const { id: messageId, seq: messageSeq } = item;
      const place = { messageId, ...(messageSeq === undefined ? {} : { messageSeq }) };
      emit({ ...about, message, ...place, session: row, updatedAt: row.updatedAt ?? 0 }, { connections });
    }
  }

  return {
    handlers: {
      subscribe({ params, connection, signal }) {
        const key = keyOf(sessions, params);
        const id = idOf(connection);
        const held = [...followers.values()].filter((connections) => connections.has(id)).length;
        if (held >= MOST_SESSIONS) invalidRequest(`a connection follows at most ${MOST_SESSIONS} sessions`);
        if (!signal.aborted) followers.set(key, (followers.get(key) ?? new Set()).add(id));
        return { subscribed: true, key };
      },
      unsubscribe({ params, connection }) {
        const key = keyOf(sessions, params);
        unfollow(key, idOf(connection));
        return { subscribed: false, key };
      },
    },
    changed(change) {
      if (change.reason !== "send" || !followers.has(change.key)) return;
      telling = telling
        .then(() => tell(change))
        .catch((error: unknown) => log.warn({ err: error, sessionKey: change.key }, "new messages could not be read"));
    },
    left(id) {
      for (const key of followers.keys()) unfollow(key, id);
    },
  };
}

function keyOf(sessions: FollowersOptions["sessions"], { key, agentId }: { key: string; agentId?: string }): string {
  const canonical = sessions.canonicalKey(key);
  refuseOtherAgent(sessions, canonical, agentId);
  return canonical;
}

function idOf(connection: ConnectionInfo | undefined): string {
  return connection?.id ?? invalidRequest("only a connected client can subscribe: call it on a WebSocket");
}

/** The session a tool is asked about: by its key, and only where the caller's session reaches it. */
import { isGatewayError, notFound } from "@svc/sdk";
import { ownSessionKey, type SessionEntry, type Sessions } from "@svc/sdk/sessions";
import type { ToolCall } from "@svc/sdk/tools";

type Caller = Pick<ToolCall, "sessionKey" | "agentId">;

export interface Found {
  readonly key: string;
  readonly entry: SessionEntry;
}

/**
 * The canonical key a tool's caller means. Choice: a key without `agent:` is one of its own agent, so `main` is its own main
 * session. @throws GatewayError `INVALID_REQUEST` for a malformed one
 */
export function meantKey(text: string, { agentId }: Pick<Caller, "agentId">, sessions: Pick<Sessions, "canonicalKey">) {
  return sessions.canonicalKey(ownSessionKey(text, agentId));
}

/** @throws GatewayError `NOT_FOUND`, the same whether it is out of reach, malformed or not there: nobody learns which sessions there are */
export async function findVisible(
  text: string,
  caller: Caller,
  sessions: Pick<Sessions, "canonicalKey" | "get" | "mayTouch">,
): Promise<Found> {
  const missing = () => notFound(`no session "${text.trim()}" within reach; sessions_list shows those that are`);
  const key = keyOrNothing(text, caller, sessions) ?? missing();
  const [entry, isVisible] = await Promise.all([sessions.get(key), sessions.mayTouch(caller.sessionKey, key)]);
  return entry && isVisible ? { key, entry } : missing();
}

function keyOrNothing(...asked: Parameters<typeof meantKey>): string | undefined {
  try {
    return meantKey(...asked);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined;
  }
}

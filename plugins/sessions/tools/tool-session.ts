/** Finds the session that a tool call names, if it is within reach of the caller's session. */
import { isGatewayError, notFound } from "@svc/sdk";
import { ownSessionKey, type SessionEntry, type Sessions } from "@svc/sdk/sessions";
import type { ToolCall } from "@svc/sdk/tools";

type Caller = Pick<ToolCall, "sessionKey" | "agentId">;

export interface Found {
  readonly key: string;
  readonly entry: SessionEntry;
}

/**
 * The canonical key that a tool call names. Choice: a key without `agent:` belongs to the caller's agent, so `main` is the
 * caller's main session. @throws GatewayError `INVALID_REQUEST` for a malformed key
 */
export function meantKey(text: string, { agentId }: Pick<Caller, "agentId">, sessions: Pick<Sessions, "canonicalKey">) {
  return sessions.canonicalKey(ownSessionKey(text, agentId));
}

/** @throws GatewayError `NOT_FOUND`, the same for a key out of reach, malformed or unknown: it must not reveal which sessions exist */
export async function findVisible(
  text: string,
  caller: Caller,
  sessions: Pick<Sessions, "canonicalKey" | "get" | "mayTouch">,
): Promise<Found> {
  const missing = () =>
    notFound(`no session "${text.trim()}" within reach; sessions_list shows the sessions within reach`);
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

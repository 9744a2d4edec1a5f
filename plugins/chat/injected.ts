/** `chat.inject`: writes an operator's text into a transcript. Spec: protocol/methods-chat.md §4. */
import { type Handler, notFound } from "@svc/sdk";
import type { chat } from "@svc/sdk/chat";
import { injectedMessage } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import { type ChatPayload, shownMessage } from "./stream.ts";

export interface InjectOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf" | "get" | "append">;
  readonly clock: { now(): number };
  readonly emit: (payload: ChatPayload) => void;
}

/** Handler of `chat.inject`. Refuses with `NOT_FOUND` for a session that does not exist. */
export function createInject({ sessions, clock, emit }: InjectOptions): Handler<typeof chat.inject> {
  return async ({ params: { sessionKey, message, label } }) => {
    const key = sessions.canonicalKey(sessionKey);
    if (!(await sessions.get(key)))
      notFound(`no session "${sessionKey}"; chat.send creates it, sessions.list shows all`);
    const text = label ? `[${label}]\n\n${message}` : message;
    const now = clock.now();
    const [messageId = ""] = await sessions.append(key, [injectedMessage(text, now)]);
    const source = { runId: `inject-${messageId}`, sessionKey, agentId: sessions.agentOf(key) };
    emit({ ...source, seq: 0, state: "final", message: shownMessage(text, now) });
    return { ok: true, messageId };
  };
}

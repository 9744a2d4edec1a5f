/** Assistant messages that the gateway writes into a transcript itself. Spec: protocol/stores.md §2, methods-chat.md §4. */
import { type chat, type Handler, notFound } from "@svc/sdk";
import type { AssistantMessage, Sessions } from "@svc/sdk/services";
import { type ChatPayload, shownMessage } from "./stream.ts";

const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

/** Such a message. @param timestamp epoch ms */
export function injectedMessage(text: string, timestamp: number): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "openai-responses",
    provider: "svc",
    model: "gateway-injected",
    usage: NO_USAGE,
    stopReason: "stop",
    timestamp,
  };
}

export interface InjectOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "get" | "append">;
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
    emit({ runId: `inject-${messageId}`, sessionKey, seq: 0, state: "final", message: shownMessage(text, now) });
    return { ok: true, messageId };
  };
}

/** A client with responses from the test, and events that the test sends. */
import type { PayloadOf } from "@svc/sdk";
import { agentEvent } from "@svc/sdk/agents";
import { chatEvent } from "@svc/sdk/chat";
import type { ChatClient } from "../../../plugins/chat/conversation.ts";
import type { ChatPayload } from "../../../plugins/chat/stream.ts";

type Listener = (payload: never) => void;
export type Answer = (params: Record<string, unknown>) => unknown;

export function createFakeClient(answers: Record<string, Answer> = {}) {
  const listeners = new Set<readonly [name: string, listener: Listener]>();
  const closeListeners: ((info: { code: number; reason: string; willReconnect: boolean }) => void)[] = [];
  const calls: [method: string, params: unknown][] = [];
  const tell = (name: string, payload: unknown) => {
    for (const [event, listener] of listeners) if (event === name) listener(payload as never);
  };
  const client = {
    async call({ name }: { name: string }, params: Record<string, unknown>) {
      calls.push([name, params]);
      return answers[name]?.(params) ?? { runId: params["idempotencyKey"], status: "started" };
    },
    on({ name }: { name: string }, listener: Listener) {
      const entry = [name, listener] as const;
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    onClose(listener: (typeof closeListeners)[number]) {
      closeListeners.push(listener);
      return () => undefined;
    },
    close: async () => undefined,
  } as unknown as ChatClient; // only the parts that a conversation uses, without their type parameters
  return {
    client,
    calls,
    listeners,
    tells: tell,
    says: (runId: string, state: ChatPayload["state"], text = "", more: Partial<ChatPayload> = {}) => {
      const message: ChatPayload["message"] = { role: "assistant", content: [{ type: "text", text }], timestamp: 1 };
      const payload: ChatPayload = {
        runId,
        sessionKey: "agent:main:main",
        seq: 1,
        state,
        ...(text ? { message } : {}),
      };
      tell(chatEvent.name, { ...payload, ...more });
    },
    usesTool: (runId: string, data: Record<string, unknown>) => {
      const payload: PayloadOf<typeof agentEvent> = { runId, seq: 1, stream: "tool", ts: 1, data };
      tell(agentEvent.name, payload);
    },
    breaks: () => {
      for (const listener of closeListeners) listener({ code: 1012, reason: "service restart", willReconnect: false });
    },
  };
}

/** Lets all callbacks of settled promises run. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

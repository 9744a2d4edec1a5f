/** One conversation through a gateway client: sends a message, follows and stops the reply. Independent of terminals. */
import { GatewayError, type PayloadOf } from "@svc/sdk";
import { agentEvent } from "@svc/sdk/agents";
import { chat, chatEvent } from "@svc/sdk/chat";
import type { CommandContext } from "@svc/sdk/cli";
import { randomUUID } from "node:crypto";

/** The part of the SDK client that is used. */
export type ChatClient = Pick<Awaited<ReturnType<CommandContext["connect"]>>, "call" | "on" | "onClose">;

/** How one message ended. */
export interface Reply {
  readonly runId: string;
  readonly status: "ok" | "error" | "aborted";
  /** The whole text, or the part received; empty if the agent had nothing to say. */
  readonly text: string;
  /** The reason, for `error` and `aborted`. */
  readonly reason?: string;
}

/** Receives the progress of a reply. */
export interface ReplyWatcher {
  /** @param text the whole text so far */
  text(text: string): void;
  /** @param data of the `tool` stream, protocol/events.md §3 */
  tool(data: Readonly<Record<string, unknown>>): void;
}

export interface ConversationOptions {
  readonly client: ChatClient;
  readonly sessionKey: string;
  readonly thinking?: string;
  /** Milliseconds a run may take; 0: no limit; default: the gateway's configuration. */
  readonly timeoutMs?: number;
  /** Makes idempotency keys. */
  readonly newId?: () => string;
}

export interface Conversation {
  /** The last `limit` messages, oldest first. */
  history(limit: number): Promise<readonly unknown[]>;
  /**
   * Sends a message and waits for the end of the reply. Call this again only when the previous call has ended.
   * @throws GatewayError the error of the gateway, or `UNAVAILABLE` when the connection is lost (the run goes on in the gateway).
   */
  send(message: string, watcher: ReplyWatcher): Promise<Reply>;
  /** Stops the reply in progress. @returns false when there is none. */
  abort(): Promise<boolean>;
  /** A reply is in progress. */
  readonly replying: boolean;
  /** Why the connection was lost; `undefined` while it is open. */
  readonly lost: GatewayError | undefined;
  /** Calls `listener` once, when the connection is lost. */
  readonly onLost: (listener: () => void) => void;
}

export function createConversation(options: ConversationOptions): Conversation {
  const { client, sessionKey, thinking, timeoutMs, newId = randomUUID } = options;
  let current: string | undefined;
  let lost: GatewayError | undefined;
  const whenLost = new Promise<never>((_resolve, reject) => {
    client.onClose(({ code, reason }) => {
      const why = reason ? `${code} ${reason}` : String(code);
      reject((lost ??= new GatewayError("UNAVAILABLE", `connection to the gateway lost (${why})`)));
    });
  });
  whenLost.catch(() => undefined); // prevents an unhandled rejection when nobody waits

  async function ask(runId: string, message: string): Promise<Reply | undefined> {
    const extra = { ...(thinking ? { thinking } : {}), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const answer = await client.call(chat.send, { sessionKey, message, idempotencyKey: runId, ...extra });
    if (!("ok" in answer)) return undefined; // the reply arrives as events
    const { length } = answer.runIds;
    return {
      runId,
      status: "ok",
      text: length === 0 ? "Nothing to stop." : `Stopped ${length} run${length === 1 ? "" : "s"}.`,
    };
  }

  async function follow(runId: string, message: string, watcher: ReplyWatcher): Promise<Reply> {
    const stops: (() => void)[] = [];
    const ended = new Promise<Reply>((resolve) => {
      const stop = client.on(chatEvent, (payload) => {
        if (payload.runId !== runId) return;
        if (payload.state !== "delta") resolve(replyOf(payload));
        else watcher.text(textOf(payload));
      });
      stops.push(stop);
    });
    const stopTools = client.on(agentEvent, (payload) => {
      const { stream, data } = payload;
      // The schema of `data` guarantees an object.
      if (payload.runId === runId && stream === "tool") watcher.tool(data as Record<string, unknown>);
    });
    stops.push(stopTools);
    try {
      return (await Promise.race([ask(runId, message), whenLost])) ?? (await Promise.race([ended, whenLost]));
    } finally {
      for (const stop of stops) stop();
    }
  }

  return {
    get lost() {
      return lost;
    },
    onLost: (listener) => void whenLost.catch(listener),
    get replying() {
      return current !== undefined;
    },
    async history(limit) {
      return (await client.call(chat.history, { sessionKey, limit })).messages;
    },
    async send(message, watcher) {
      const runId = newId();
      current = runId;
      try {
        return await follow(runId, message, watcher);
      } finally {
        current = undefined;
      }
    },
    async abort() {
      if (current === undefined) return false;
      return (await client.call(chat.abort, { sessionKey, runId: current })).aborted;
    },
  };
}

function textOf({ message }: PayloadOf<typeof chatEvent>): string {
  return (message?.content ?? []).map(({ text }) => text).join("");
}

function replyOf(payload: PayloadOf<typeof chatEvent>): Reply {
  const { runId, state, errorMessage, stopReason } = payload;
  const text = textOf(payload);
  if (state === "error") return { runId, status: "error", text, reason: errorMessage ?? "the run failed" };
  if (state === "aborted") return { runId, status: "aborted", text, reason: stopReason ?? "aborted" };
  return { runId, status: "ok", text };
}

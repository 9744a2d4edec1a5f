/** Turns the events of runs into `chat` events. The only state is the last delta of each active run. Spec: protocol/events.md §4. */
import type { PayloadOf } from "@svc/sdk";
import type { RunEvent, RunOutcome } from "@svc/sdk/agents";
import type { chatEvent } from "@svc/sdk/chat";
import type { Sessions } from "@svc/sdk/sessions";
import { growingText, isSilent, mayBecomeSilent, replyText } from "./display-text.ts";
import type { SentRuns } from "./sent-runs.ts";

export type ChatPayload = PayloadOf<typeof chatEvent>;
type ShownMessage = NonNullable<ChatPayload["message"]>;

/** Milliseconds between two deltas of one run; text in between is sent with the next delta or the final event. */
export const DELTA_INTERVAL_MS = 150;

/** Choice: average number of characters of cumulative text that the deltas of one run send in a millisecond: long texts are sent less often. */
const CHARS_PER_MS = 500;

/** Choice: above this many active runs the oldest is forgotten: its next delta comes early, and its `deltaText` is the whole text. */
const MAX_REMEMBERED = 10_000;

export interface ChatStreamOptions {
  readonly clock: { now(): number; elapsed(): number };
  readonly sessions: Pick<Sessions, "agentOf">;
  readonly sent: Pick<SentRuns, "rawKey" | "delete">;
  readonly emit: (payload: ChatPayload, audience?: { droppable: boolean }) => void;
}

/** @returns the handler to call with every event of every run, in order. */
export function createChatStream({ clock, sessions, sent, emit }: ChatStreamOptions): (event: RunEvent) => void {
  const last = new Map<string, Delta>();

  function delta({ runId, sessionKey, seq, data }: RunEvent): void {
    const at = clock.elapsed();
    const whole = typeof data["text"] === "string" ? data["text"] : "";
    const pauseMs = Math.max(DELTA_INTERVAL_MS, whole.length / CHARS_PER_MS);
    const former = last.get(runId);
    if (former && at - former.at < pauseMs) return; // most steps end here
    const text = growingText(whole);
    if (text === "" || mayBecomeSilent(text)) return;
    last.set(runId, { at, text });
    for (const oldest of last.keys()) {
      if (last.size <= MAX_REMEMBERED) break;
      last.delete(oldest);
    }
    const source = { runId, sessionKey, agentId: sessions.agentOf(sessionKey), seq };
    const message = shownMessage(text, clock.now());
    emit({ ...source, state: "delta", message, ...added(text, former?.text) }, { droppable: true });
  }

  return (event) => {
    if (event.isForeign) {
      if (event.outcome) sent.delete(event.runId);
    } else if (event.outcome) {
      last.delete(event.runId);
      const agentId = sessions.agentOf(event.sessionKey);
      emit({ ...ending(event.outcome, event.seq, sent.rawKey(event.runId)), agentId }, { droppable: false });
      sent.delete(event.runId);
    } else if (event.stream === "assistant" && !event.isQuiet) {
      delta(event);
    }
  };
}

interface Delta {
  /** elapsed ms */
  readonly at: number;
  readonly text: string;
}

/** How a text goes on from the one of the last delta. */
function added(text: string, former = ""): Pick<ChatPayload, "deltaText" | "replace"> {
  return text.startsWith(former) ? { deltaText: text.slice(former.length) } : { deltaText: text, replace: true };
}

/**
 * The one event that ends a run.
 * @param rawKey key as the caller of `chat.send` wrote it; it names the session if the run never started
 *   or was aborted. Other runs have only the canonical key.
 */
export function ending(outcome: RunOutcome, seq: number, rawKey: string | undefined): ChatPayload {
  const { runId, sessionKey, status, endedAt, errorMessage, abortReason } = outcome;
  // The message was merged into another run, which has the reply. Spec: protocol/methods-chat.md §2, "session busy".
  if (abortReason === "collected" || abortReason === "steered") {
    return { runId, sessionKey: rawKey ?? sessionKey, seq, state: "final" };
  }
  if (status === "error") {
    const reached = outcome.startedAt !== undefined;
    const key = reached ? sessionKey : (rawKey ?? sessionKey);
    const failure = KINDS.find((kind) => kind === outcome.failure);
    const why = { ...(errorMessage === undefined ? {} : { errorMessage }), ...(failure && { errorKind: failure }) };
    return { runId, sessionKey: key, seq, state: "error", ...why };
  }
  const text = outcome.takenBack === undefined ? replyText(outcome.text) : "";
  const silent = status === "ok" ? isSilent(text) : mayBecomeSilent(text);
  const message = text.trim() === "" || silent ? {} : { message: shownMessage(text, endedAt) };
  const used = outcome.usage && { usage: outcome.usage };
  if (status === "ok") return { runId, sessionKey, seq, state: "final", ...message, ...used };
  const stopReason = abortReason ?? "rpc";
  return { runId, sessionKey: rawKey ?? sessionKey, seq, state: "aborted", stopReason, ...message };
}

/** Failures of models that clients tell apart. */
const KINDS = ["rate_limit", "timeout"] as const;

/** An assistant message in the form of `chat` events. */
export function shownMessage(text: string, timestamp: number): ShownMessage {
  return { role: "assistant", content: [{ type: "text", text }], timestamp };
}

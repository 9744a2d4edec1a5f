/** Stops runs that `chat.send` started. Spec: protocol/methods-chat.md §3. */
import { type Handler, invalidRequest, type ResultOf } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import type { chat } from "@svc/sdk/chat";
import type { Sessions } from "@svc/sdk/sessions";
import { refuseOtherAgent } from "./reading.ts";
import type { SentRuns } from "./sent-runs.ts";

/** `stopReason` of the abort event: by `chat.abort`, or by a stop request in `chat.send`. */
export type AbortReason = "rpc" | "stop";
export type AbortResult = ResultOf<typeof chat.abort>;

export interface AbortOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf">;
  readonly runs: Pick<AgentRuns, "active" | "abort">;
  readonly sent: Pick<SentRuns, "rawKey" | "settled">;
}

export interface Aborts {
  /** Aborts every active run that was sent under exactly this key. @throws GatewayError `INVALID_REQUEST` for a malformed key */
  all(rawKey: string, reason: AbortReason): Promise<AbortResult>;
  readonly handler: Handler<typeof chat.abort>;
}

export function createAborts({ sessions, runs, sent }: AbortOptions): Aborts {
  /** Choice: a run sent before this plugin was reloaded counts as sent under its canonical key. */
  const rawKeyOf = (runId: string, canonicalKey: string) => sent.rawKey(runId) ?? canonicalKey;

  async function activeRuns(rawKey: string) {
    const key = sessions.canonicalKey(rawKey);
    await sent.settled(rawKey);
    return runs
      .active(key)
      .filter(({ source }) => source === "chat")
      .map(({ runId }) => ({ runId, rawKey: rawKeyOf(runId, key) }));
  }

  function abort(runIds: readonly string[], reason: AbortReason): AbortResult {
    const aborted = runIds.filter((runId) => runs.abort(runId, reason));
    return { ok: true, aborted: aborted.length > 0, runIds: aborted };
  }

  async function all(rawKey: string, reason: AbortReason): Promise<AbortResult> {
    const active = await activeRuns(rawKey);
    const own = active.filter((run) => run.rawKey === rawKey).map(({ runId }) => runId);
    return abort(own, reason);
  }

  async function one(rawKey: string, runId: string): Promise<AbortResult> {
    const active = await activeRuns(rawKey);
    const run = active.find((candidate) => candidate.runId === runId);
    const owner = sent.rawKey(runId) ?? run?.rawKey;
    if (owner !== undefined && owner !== rawKey) {
      invalidRequest(`run ${runId} was sent to session "${owner}", not "${rawKey}"; use the key it was sent with`);
    }
    return abort(run ? [runId] : [], "rpc");
  }

  return {
    all,
    handler({ params: { sessionKey, agentId, runId } }) {
      refuseOtherAgent(sessions, sessions.canonicalKey(sessionKey), agentId);
      return runId === undefined ? all(sessionKey, "rpc") : one(sessionKey, runId);
    },
  };
}

/** Handles a second request with the same idempotency key. Spec: protocol/methods-chat.md §2. */
import { GatewayError, invalidRequest, type ResultOf } from "@svc/sdk";
import type { AgentRuns, RunState } from "@svc/sdk/agents";
import type { chat } from "@svc/sdk/chat";

/**
 * Choice: a key of another session or another kind of run is refused, because this message would be lost; keys are
 * stored as long as runs are, not five minutes; an aborted run counts as failed, unless its message was merged into
 * another run.
 * @throws GatewayError `INVALID_REQUEST`, or `UNAVAILABLE` with `{ runId, status: "error", summary }` as payload
 */
export async function repeated(
  run: RunState,
  key: string,
  runs: Pick<AgentRuns, "wait">,
): Promise<ResultOf<typeof chat.send>> {
  const { runId, status } = run;
  if (run.source !== "chat" || run.sessionKey !== key) {
    invalidRequest(
      `idempotencyKey ${runId} was already used for ${run.source} in "${run.sessionKey}"; choose a new one`,
    );
  }
  if (status === "accepted" || status === "running") return { runId, status: "in_flight" };
  if (status === "ok") return { runId, status: "ok" };
  if (status === "aborted" && (await runs.wait(runId, 0))?.mergedInto !== undefined) return { runId, status: "ok" };
  const summary = run.error ?? (status === "error" ? "the run failed" : `the run was ${status}`);
  throw new GatewayError("UNAVAILABLE", `${summary}; send again with a new idempotencyKey`, {
    payload: { runId, status: "error", summary },
  });
}

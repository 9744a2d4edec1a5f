/** Handlers of `agent` and `agent.wait`. */
import { spokenText } from "@svc/kit/runs";
import { type Clock, GatewayError, type Handlers, type ResultOf, unavailable } from "@svc/sdk";
import type { agents, RunOutcome } from "@svc/sdk/agents";
import { reasonOf } from "./outcome.ts";
import { type RequestSources, toolConnection, toRunRequest } from "./request.ts";
import type { Runs } from "./runs.ts";

/** Default timeout of `agent.wait` in milliseconds. Spec: protocol/methods-agent.md §2. */
const DEFAULT_WAIT_MS = 30_000;

type RunResult = ResultOf<typeof agents.run>;

interface MethodSources extends RequestSources {
  readonly runs: Runs;
  readonly clock: Pick<Clock, "elapsed">;
}

export function createRunHandlers(sources: MethodSources): Pick<Handlers<typeof agents>, "run" | "wait"> {
  const { runs, services } = sources;

  return {
    async run(call) {
      const { idempotencyKey: runId } = call.params;
      const prepare = () => toRunRequest(call.params, call, sources);
      const { fresh, state, acceptedAt } = await runs.prepareAndStart(runId, toolConnection(call), prepare);
      const { sessionKey } = state;
      const agentId = services.sessions.agentOf(sessionKey);
      const accepted = { runId, sessionKey, agentId, status: "accepted", acceptedAt };
      const isOver = state.status !== "accepted" && state.status !== "running";
      // A repeated request with the same idempotency key gets one response: the current state of the run.
      if (!fresh && !isOver) return accepted;
      if (fresh) call.accept(accepted);
      const outcome = fresh ? await runs.waitAnywhere(runId) : await runs.wait(runId, 0);
      const failure = await runs.deliveries.failure(runId);
      if (failure !== undefined) {
        const summary = `the reply was not delivered: ${failure}`;
        unavailable(summary, { payload: { runId, status: "error", summary } });
      }
      return finalResponse(outcome, runId, acceptedAt);
    },

    async wait({ params: { runId, timeoutMs = DEFAULT_WAIT_MS } }) {
      const outcome = await followed(sources, runId, timeoutMs);
      if (!outcome) return { runId, status: "timeout" };
      const { status, startedAt, endedAt } = outcome;
      const error = reasonOf(outcome);
      return {
        runId,
        status: status === "aborted" ? "timeout" : status,
        ...(startedAt === undefined ? {} : { startedAt }),
        endedAt,
        ...(error === undefined ? {} : { error }),
      };
    },
  };
}

/** The outcome of the run, or of the run its message was merged into; `undefined` when the timeout passes. */
async function followed(
  { runs, clock }: Pick<MethodSources, "runs" | "clock">,
  runId: string,
  timeoutMs: number,
): Promise<RunOutcome | undefined> {
  const until = clock.elapsed() + timeoutMs;
  const outcome = await runs.waitAnywhere(runId, timeoutMs);
  if (outcome?.mergedInto === undefined) return outcome;
  return runs.waitAnywhere(outcome.mergedInto, Math.max(0, until - clock.elapsed()));
}

/** The second response of a new request, or the only response of a duplicate. @throws GatewayError `UNAVAILABLE` with a payload. Spec: §1. */
function finalResponse(outcome: RunOutcome | undefined, runId: string, acceptedAt: number): RunResult {
  if (!outcome) {
    const summary = "the gateway stopped before the run ended; after it is back, call agent.wait for the outcome";
    unavailable(summary, { payload: { runId, status: "error", summary }, retryAfterMs: 2_000 });
  }
  if (outcome.status === "error") {
    const summary = outcome.errorMessage ?? "the run failed";
    throw new GatewayError("UNAVAILABLE", summary, { payload: { runId, status: "error", summary } });
  }
  const { status, text, startedAt = acceptedAt, endedAt, sessionId, provider, model, usage } = outcome;
  const isSilent = spokenText(text).trim() === "";
  const agentMeta = { sessionId, provider, model, usage };
  return {
    runId,
    status: "ok",
    summary: status === "aborted" ? "aborted" : "completed",
    result: {
      payloads: isSilent ? [] : [{ text, mediaUrl: null }],
      meta: {
        durationMs: endedAt - startedAt,
        // Unknown fields are left out, and never null: existing clients validate strictly.
        agentMeta: Object.fromEntries(Object.entries(agentMeta).filter(([, value]) => value !== undefined)),
        ...(status === "aborted" ? { aborted: true } : {}),
      },
    },
  };
}

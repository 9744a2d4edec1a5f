/** Closes runs that a stop or a crash cut off. */
import type { RunOutcome } from "@svc/sdk/services";
import type { Environment } from "./environment.ts";
import { errorMessage } from "./gateway-messages.ts";
import type { RunRecord } from "./run-store.ts";

const INTERRUPTED = "interrupted by a gateway restart";

/**
 * The transcript says so, in the same transaction as the record.
 * @returns how the run ended; `undefined` when that could not be stored, which is logged
 */
export async function closeInterrupted({ state }: RunRecord, env: Environment): Promise<RunOutcome | undefined> {
  const { runId, sessionKey, startedAt } = state;
  const { clock, log, services, store } = env;
  const endedAt = clock.now();
  const message = errorMessage(INTERRUPTED, endedAt);
  const outcome: RunOutcome = {
    runId,
    sessionKey,
    status: "error",
    ...(startedAt === undefined ? {} : { startedAt }),
    endedAt,
    text: "",
    errorMessage: INTERRUPTED,
    message,
  };
  try {
    await services.sessions.append(sessionKey, [message], [store.ended(outcome, "running", "interrupted")]);
    return outcome;
  } catch (error) {
    log.error({ err: error, runId }, "an interrupted run could not be closed; the next start tries again");
    return undefined;
  }
}

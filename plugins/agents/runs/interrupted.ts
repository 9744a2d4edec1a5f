/** Closes runs that a stop or a crash interrupted. */
import type { RunOutcome } from "@svc/sdk/agents";
import type { Message } from "@svc/sdk/models";
import type { Environment } from "./environment.ts";
import { errorMessage } from "../history/gateway-messages.ts";
import type { RunRecord } from "./store.ts";

/** Messages that are searched for tool calls. */
const LOOKED_THROUGH = 1_000;

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
  try {
    const items = await services.sessions.transcript(sessionKey, LOOKED_THROUGH);
    const calledTools = toolUse(
      items.map((item) => item.message),
      startedAt,
    );
    const outcome: RunOutcome = {
      runId,
      sessionKey,
      status: "error",
      ...(startedAt === undefined ? {} : { startedAt }),
      endedAt,
      text: "",
      errorMessage: INTERRUPTED,
      ...(calledTools === undefined ? {} : { calledTools }),
      message,
    };
    await services.sessions.append(sessionKey, [message], [store.ended(outcome, "running", "interrupted")]);
    return outcome;
  } catch (error) {
    log.error({ err: error, runId }, "an interrupted run could not be closed; the next start tries again");
    return undefined;
  }
}

/**
 * Whether the run that ends this transcript called tools. Recorded now, since the session may be reset before a caller
 * asks. @returns `undefined` when the start of the run is not among the messages
 */
function toolUse(messages: readonly Message[], startedAt: number | undefined): boolean | undefined {
  // The message it started with was stored with its start.
  const start = messages.findIndex(({ role, timestamp }) => role === "user" && timestamp === startedAt);
  if (start < 0) return undefined;
  return messages
    .slice(start)
    .some(({ role, content }) => role === "toolResult" || content.some(({ type }) => type === "toolCall"));
}

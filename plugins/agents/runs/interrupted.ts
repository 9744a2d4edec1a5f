/** What becomes of runs that a stop or a crash interrupted: they begin again, or are closed. */
import type { RunOutcome } from "@svc/sdk/agents";
import type { Message } from "@svc/sdk/models";
import type { Environment } from "./environment.ts";
import { errorMessage } from "../history/gateway-messages.ts";
import { HTTP_LANE } from "./queue.ts";
import type { RunRecord } from "./store.ts";

/** Messages that are searched for tool calls. */
const LOOKED_THROUGH = 1_000;

const INTERRUPTED = "interrupted by a gateway restart";

/** Choice: how often a run begins again, so that one that brings the gateway down does not do so for ever. */
const MAX_RESUMES = 3;

/** `outcome`: it was closed. */
export type Recovered = { readonly isResumed: true } | { readonly isResumed: false; readonly outcome: RunOutcome };

/**
 * A run that had called no tool begins again, with its message that is in the transcript; for any other the transcript
 * says that it was interrupted, in the transaction of its record. Choice: a run whose caller waited with an open HTTP
 * connection is closed, since nobody would read its answer.
 * @param record of a run that this gateway has taken
 * @returns `undefined` when it could not be stored, which is logged
 */
export async function recoverInterrupted(record: RunRecord, env: Environment): Promise<Recovered | undefined> {
  const { services, store, log } = env;
  const { runId, sessionKey, startedAt } = record.state;
  try {
    const items = await services.sessions.transcript(sessionKey, LOOKED_THROUGH);
    const messages = items.map((item) => item.message);
    const calledTools = toolUse(messages, startedAt);
    if (calledTools === false && mayBeginAgain(record)) {
      await services.storage.transaction([store.resumed(runId)]);
      return { isResumed: true };
    }
    const outcome = interrupted(record, calledTools, env.clock.now());
    const closing = outcome.message ? [outcome.message] : [];
    await services.sessions.append(sessionKey, closing, [store.ended(outcome, "running", "interrupted")]);
    return { isResumed: false, outcome };
  } catch (error) {
    log.error({ err: error, runId }, "an interrupted run could not be recovered; the next start tries again");
    return undefined;
  }
}

function mayBeginAgain({ request, resumes }: RunRecord): boolean {
  if (!request || resumes >= MAX_RESUMES) return false;
  // Who asked for a run with an acknowledgement (a heartbeat) asks again, since it may be taken back only whole.
  if (request.acknowledgement !== undefined) return false;
  return request.lane !== HTTP_LANE && request.history === undefined && request.clientTools === undefined;
}

function interrupted({ state }: RunRecord, calledTools: boolean | undefined, endedAt: number): RunOutcome {
  const { runId, sessionKey, startedAt } = state;
  return {
    runId,
    sessionKey,
    status: "error",
    ...(startedAt === undefined ? {} : { startedAt }),
    endedAt,
    text: "",
    errorMessage: INTERRUPTED,
    ...(calledTools === undefined ? {} : { calledTools }),
    message: errorMessage(INTERRUPTED, endedAt),
  };
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

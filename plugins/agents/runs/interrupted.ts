/** Recovers runs that a stop or a crash interrupted: restarts or closes them. */
import type { RunOutcome } from "@svc/sdk/agents";
import type { Message } from "@svc/sdk/models";
import type { Environment } from "./environment.ts";
import { errorMessage } from "../history/gateway-messages.ts";
import { HTTP_LANE } from "./queue.ts";
import type { RunRecord } from "./store.ts";

/** Maximum number of messages that are searched for tool calls. */
const LOOKED_THROUGH = 1_000;

const INTERRUPTED = "interrupted by a gateway restart";

/** Choice: maximum number of restarts of a run, so that a run that crashes the gateway does not do so forever. */
const MAX_RESUMES = 3;

/** `outcome`: the run was closed. */
export type Recovered = { readonly isResumed: true } | { readonly isResumed: false; readonly outcome: RunOutcome };

/**
 * Restarts a run that had not called a tool, with its message in the transcript. Closes any other run, and adds an
 * error message to the transcript in the same transaction. Choice: a run whose caller waited with an open HTTP
 * connection is closed, since no client would read its answer.
 * @param record of a run that this gateway owns
 * @returns `undefined` when the recovery could not be stored, which is logged
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
    log.error(
      { err: error, runId },
      "an interrupted run could not be recovered; the next start of the gateway tries again",
    );
    return undefined;
  }
}

function mayBeginAgain({ request, resumes }: RunRecord): boolean {
  if (!request || resumes >= MAX_RESUMES) return false;
  // A run with an acknowledgement (a heartbeat) can only be withdrawn as a whole; its caller starts a new one.
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
 * Whether the last run of this transcript called tools. Determined now, since the session may be reset before a caller
 * needs to know. @returns `undefined` when the start of the run is not among the messages
 */
function toolUse(messages: readonly Message[], startedAt: number | undefined): boolean | undefined {
  // The first message of a run has the time of its start.
  const start = messages.findIndex(({ role, timestamp }) => role === "user" && timestamp === startedAt);
  if (start < 0) return undefined;
  return messages
    .slice(start)
    .some(({ role, content }) => role === "toolResult" || content.some(({ type }) => type === "toolCall"));
}

/** Stores the end of a run: its last messages and its outcome in one transaction, or nothing if another gateway owns the run. */
import { persist } from "@svc/kit/persist";
import { acknowledged } from "@svc/kit/runs";
import { isGatewayError } from "@svc/sdk";
import type { Acknowledged, RunOutcome } from "@svc/sdk/agents";
import type { Environment } from "./environment.ts";
import type { LiveRun } from "./live-runs.ts";
import { type Conducted, outcomeOf, unstartedOutcome } from "./outcome.ts";
import { noteOnSession } from "./session-note.ts";
import type { RunStore } from "./store.ts";
import type { TurnResult } from "./turn.ts";

/** Writes the end of the run with its last messages, or withdraws its messages if the answer was only an acknowledgement. */
export async function end(run: LiveRun, env: Environment, conducted: Conducted): Promise<RunOutcome | undefined> {
  const { services, store, log } = env;
  const { runId, sessionKey } = run.request;
  const { result, heard } = conducted;
  const takenBack = nothingSaid(run, result);
  const outcome: RunOutcome = {
    ...outcomeOf(run, conducted, env.clock.now()),
    ...(takenBack === undefined ? {} : { takenBack }),
  };
  if (result.status === "error")
    log.warn({ err: result.cause, runId, sessionKey }, `run failed: ${result.errorMessage}`);
  const update = store.ended(outcome, "running");
  const write = async () => {
    if (takenBack !== undefined && run.traces) {
      const { ids, unusedSince } = run.traces;
      const since = unusedSince === undefined ? {} : { unusedSince };
      await services.sessions.withdraw(sessionKey, ids, { ...since, alongside: [update] });
    } else if (result.closing.length > 0)
      await services.sessions.append(sessionKey, heard.mark(result.closing, runId), [update]);
    else await services.storage.transaction([update]);
  };
  const kept = await stored(write, { outcome, from: "running" }, run, env);
  if (kept && takenBack === undefined) await noteOnSession(run, env, conducted);
  return kept;
}

/** Ends a run that never started. Choice: its message is not added to the transcript. @param error absent: it was aborted */
export async function endUnstarted(run: LiveRun, env: Environment, error?: unknown): Promise<RunOutcome | undefined> {
  run.phase = "ending";
  const outcome = unstartedOutcome(run, env.clock.now(), error);
  if (error !== undefined) env.log.error({ err: error, runId: run.id }, "a run could not start");
  const write = () => env.services.storage.transaction([env.store.ended(outcome, "accepted")]);
  return stored(write, { outcome, from: "accepted" }, run, env);
}

/** The reason the messages of the run are withdrawn; `undefined`: they stay. */
function nothingSaid({ request, traces }: LiveRun, { status, text }: TurnResult): Acknowledged | undefined {
  if (!request.acknowledgement || !traces || status !== "ok") return undefined;
  const verdict = acknowledged(text, request.acknowledgement);
  return "nothing" in verdict ? verdict.nothing : undefined;
}

/** Stores the end of a run. If storage rejects it permanently, the run ends as an error and is stored without messages. */
async function stored(
  write: () => Promise<unknown>,
  { outcome, from }: { readonly outcome: RunOutcome; readonly from: "accepted" | "running" },
  run: LiveRun,
  { clock, log, services, store }: Environment,
): Promise<RunOutcome | undefined> {
  const isDone = async () => (await store.find(outcome.runId))?.state.status === outcome.status;
  try {
    await persist(write, { clock, signal: run.abandoned, isDone });
    return outcome;
  } catch (error) {
    if (run.abandoned.aborted || (await isTaken(error, outcome.runId, store))) return undefined;
    log.error({ err: error, runId: outcome.runId }, "the end of a run could not be stored");
    const refused: RunOutcome = { ...outcome, status: "error", errorMessage: "the reply could not be stored" };
    // If the record stayed open, the run would restart with the gateway, although its end was announced.
    const close = () => services.storage.transaction([store.ended(refused, from)]);
    await persist(close, { clock, signal: run.abandoned, isDone: async () => true }).catch((thrown: unknown) =>
      log.error(
        { err: thrown, runId: outcome.runId },
        "the record of an ended run could not be closed; the next start of the gateway may repeat the run",
      ),
    );
    return refused;
  }
}

/** Whether the run already has an outcome, or belongs to another gateway. */
async function isTaken(thrown: unknown, runId: string, store: RunStore): Promise<boolean> {
  if (!isGatewayError(thrown) || thrown.code !== "CONFLICT") return false;
  const record = await store.find(runId).catch(() => undefined);
  return record !== undefined && (record.outcome !== undefined || record.owner !== store.owner.id);
}

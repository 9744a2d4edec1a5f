/** Follows a run to its end, whoever started it and in whatever process. */
import { type Clock, pause, untilAborted } from "@svc/sdk";
import type { AgentRuns, RunOutcome, RunState } from "@svc/sdk/agents";
import { detailsCode } from "@svc/sdk/errors";

/** Milliseconds of one wait for the end of a run, and of the pause between waits that returned at once. */
const WAIT_MS = 60_000;
const PAUSE_MS = 1_000;

/** Dependencies. */
export interface EndOfRunSources {
  /** Called for each wait; `undefined`: agents are unavailable at the moment. */
  runs(): Pick<AgentRuns, "wait" | "state"> | undefined;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

/** A finished run. */
export interface EndedRun {
  readonly outcome: RunOutcome;
  /** From its record; `undefined`: the record was deleted. */
  readonly status: RunState["status"] | undefined;
}

/**
 * Waits for the end of an accepted run, however long it takes. A run whose record was deleted meanwhile has failed.
 * @param signal aborts the waiting; the run goes on
 * @throws the signal's reason; GatewayError `UNAVAILABLE` (`isGatewayStopping`) for a run that starts after the restart
 */
export async function endOfRun(
  runId: string,
  { runs, clock }: EndOfRunSources,
  signal: AbortSignal,
): Promise<EndedRun> {
  for (;;) {
    const desk = runs();
    const outcome = desk && (await untilAborted(desk.wait(runId, WAIT_MS), signal));
    const status = (await desk?.state(runId))?.status;
    if (outcome) return { outcome, status };
    if (desk && status === undefined) return { outcome: forgotten(runId, clock.now()), status };
    await pause(PAUSE_MS, clock, signal);
    signal.throwIfAborted();
  }
}

/** Whether work was refused because the gateway is stopping. Leave it on disk for the next start. */
export function isGatewayStopping(error: unknown): boolean {
  return detailsCode(error) === "GATEWAY_STOPPING";
}

function forgotten(runId: string, endedAt: number): RunOutcome {
  return { runId, sessionKey: "", status: "error", endedAt, text: "", errorMessage: "the record of the run is gone" };
}

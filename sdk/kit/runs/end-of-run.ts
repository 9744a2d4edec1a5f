/** Following a run to its end, whoever began it, and in whatever process. */
import { type Clock, pause, untilAborted } from "@svc/sdk";
import type { AgentRuns, RunOutcome, RunState } from "@svc/sdk/agents";
import { detailsCode } from "@svc/sdk/errors";

/** Milliseconds one look for the end of a run lasts, and between two that came to nothing at once. */
const WAIT_MS = 60_000;
const PAUSE_MS = 1_000;

/** What it takes. */
export interface EndOfRunSources {
  /** Asked at each look; `undefined`: nobody runs agents at the moment. */
  runs(): Pick<AgentRuns, "wait" | "state"> | undefined;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

/** A run that is over. */
export interface EndedRun {
  readonly outcome: RunOutcome;
  /** Of its record; `undefined`: that is gone. */
  readonly status: RunState["status"] | undefined;
}

/**
 * The end of an accepted run, waited for however long it takes. One whose record went meanwhile has failed.
 * @param signal aborts when it is not to be waited for any longer; the run goes on
 * @throws the signal's reason; GatewayError `UNAVAILABLE` (`isGatewayStopping`) for a run that begins after the restart
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

/** Whether work was refused because the gateway stops. It is to be left as it is on disk, for the next start. */
export function isGatewayStopping(error: unknown): boolean {
  return detailsCode(error) === "GATEWAY_STOPPING";
}

function forgotten(runId: string, endedAt: number): RunOutcome {
  return { runId, sessionKey: "", status: "error", endedAt, text: "", errorMessage: "the record of the run is gone" };
}

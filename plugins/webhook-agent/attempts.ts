/** Agent runs of a webhook: finds them after a crash, starts new ones, and waits for their end. */
import { endOfRun } from "@svc/kit/runs";
import { type Clock, untilAborted } from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { WebhookJob } from "@svc/sdk/webhooks";
import type { AgentParams } from "./fields.ts";
import { stopping } from "./stopping.ts";
import { DELIVERY_PROMPT, runMessage } from "./prompt.ts";
import { type Ended, toolUse, type ToolUse } from "./verdict.ts";

/** Most messages of a transcript that are searched for tool calls. */
const LOOKED_THROUGH = 1_000;

interface AttemptSources {
  readonly runs: Pick<AgentRuns, "start" | "state" | "wait" | "whenIdle">;
  readonly sessions: Pick<Sessions, "get" | "reset" | "transcript">;
  readonly agents: Pick<AgentDirectory, "timeZone">;
  readonly clock: Clock;
}

/** Choice: the first run has the id that was returned to the sender, so that the sender can follow the run. */
export function attemptId(runId: string, attempt: number): string {
  return attempt === 1 ? runId : `${runId}:${attempt}`;
}

export class Attempts {
  readonly #sources: AttemptSources;
  /** Runs being started. */
  readonly #beginnings = new Set<Promise<void>>();
  #isStopped = false;

  constructor(sources: AttemptSources) {
    this.#sources = sources;
  }

  /** Waits for the end of the newest run of earlier attempts; `undefined` when there was none. */
  async earlier(job: WebhookJob, signal: AbortSignal): Promise<Ended | undefined> {
    for (let attempt = job.attempt; attempt >= 1; attempt -= 1) {
      const runId = attemptId(job.runId, attempt);
      if (await this.#sources.runs.state(runId)) return this.#ended(runId, signal);
    }
    return undefined;
  }

  /**
   * Starts a run in a new conversation, and waits for its end. May be called again after a crash at any point: `earlier` finds
   * a run of the same attempt, and an empty conversation can be replaced without harm.
   * @throws GatewayError `UNAVAILABLE` when the run was not accepted
   */
  async make(job: WebhookJob, params: AgentParams, signal: AbortSignal): Promise<Ended> {
    const runId = attemptId(job.runId, job.attempt);
    // A new conversation would stop other runs of the session.
    const begin = async () => {
      if (this.#isStopped) await forever(signal);
      const beginning = this.#begin(runId, job, params, signal);
      this.#beginnings.add(beginning);
      await beginning.finally(() => this.#beginnings.delete(beginning));
    };
    await this.#sources.runs
      .whenIdle(params.sessionKey, signal, begin)
      .catch((error: unknown) => (signal.aborted ? stopping() : Promise.reject(error)));
    return this.#ended(runId, signal);
  }

  /**
   * Starts no more runs. Resolves when runs being started have started: a later reset of the conversation would stop the
   * runs of this plugin's next generation.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#beginnings);
  }

  async #begin(runId: string, job: WebhookJob, params: AgentParams, signal: AbortSignal): Promise<void> {
    const { runs, sessions, agents, clock } = this.#sources;
    const { sessionKey, thinking, model, timeoutSeconds, deliver } = params;
    // Spec: §5.5: a new session id for every run; an unused key gets one anyway.
    const restart = async () => {
      if (await sessions.get(sessionKey)) await sessions.reset(sessionKey, "new");
      if (signal.aborted) stopping();
    };
    const request: RunRequest = {
      runId,
      sessionKey,
      message: runMessage(job, params, clock.now(), agents.timeZone),
      source: "hook",
      lane: "hook",
      principal: job.principal,
      ...(thinking === undefined ? {} : { thinking }),
      ...(model === undefined ? {} : { model }),
      ...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1_000 }),
      ...(deliver ? { extraSystemPrompt: DELIVERY_PROMPT } : {}),
    };
    await runs.start(request, restart);
  }

  /**
   * Whether the newest run of the job called tools. Taken from its record, since the next attempt or another webhook may have
   * reset the conversation; from the transcript if the record does not say.
   */
  async tools({ runId }: WebhookJob, sessionKey: string, { calledTools }: RunOutcome): Promise<ToolUse> {
    if (calledTools !== undefined) return calledTools ? "some" : "none";
    return toolUse(await this.#sources.sessions.transcript(sessionKey, LOOKED_THROUGH), runId);
  }

  async #ended(runId: string, signal: AbortSignal): Promise<Ended> {
    const { runs, clock } = this.#sources;
    const ending = endOfRun(runId, { runs: () => runs, clock }, signal);
    const { outcome, status } = await ending.catch((error: unknown) =>
      signal.aborted ? stopping() : Promise.reject(error),
    );
    return { outcome, isInterrupted: status === "interrupted" };
  }
}

/** Waits until the host aborts, since an earlier result would count as a failed attempt. @throws GatewayError `UNAVAILABLE` */
function forever(signal: AbortSignal): Promise<never> {
  return untilAborted(new Promise<never>(() => undefined), signal).catch(stopping);
}

/** The agent runs a webhook has had: found again after a crash, begun anew, followed to their end. */
import { endOfRun } from "@svc/kit/runs";
import { type Clock, untilAborted } from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { WebhookJob } from "@svc/sdk/webhooks";
import type { AgentParams } from "./fields.ts";
import { stopping } from "./stopping.ts";
import { DELIVERY_PROMPT, runMessage } from "./prompt.ts";
import { type Ended, toolUse, type ToolUse } from "./verdict.ts";

/** Messages of a transcript that are looked through for tool calls. */
const LOOKED_THROUGH = 1_000;

interface AttemptSources {
  readonly runs: Pick<AgentRuns, "start" | "state" | "wait" | "active">;
  readonly sessions: Pick<Sessions, "get" | "reset" | "transcript">;
  readonly agents: Pick<AgentDirectory, "timeZone">;
  readonly clock: Clock;
}

/** Choice: the first run has the id the sender was told, so that whoever has it can follow the run, too. */
export function attemptId(runId: string, attempt: number): string {
  return attempt === 1 ? runId : `${runId}:${attempt}`;
}

export class Attempts {
  readonly #sources: AttemptSources;
  /** Runs that are being begun. */
  readonly #beginnings = new Set<Promise<void>>();
  #isStopped = false;

  constructor(sources: AttemptSources) {
    this.#sources = sources;
  }

  /** The end of the newest run of earlier attempts, waited for; `undefined` when there was none. */
  async earlier(job: WebhookJob, signal: AbortSignal): Promise<Ended | undefined> {
    for (let attempt = job.attempt; attempt >= 1; attempt -= 1) {
      const runId = attemptId(job.runId, attempt);
      if (await this.#sources.runs.state(runId)) return this.#ended(runId, signal);
    }
    return undefined;
  }

  /**
   * A new run in a new conversation, to its end. May be called again after a crash at any point: what was begun under
   * the same attempt is found by `earlier`, and a conversation nobody has spoken in is begun anew without harm.
   * @throws GatewayError `UNAVAILABLE` when it was not accepted
   */
  async make(job: WebhookJob, params: AgentParams, signal: AbortSignal): Promise<Ended> {
    await this.#idle(params.sessionKey, signal);
    if (this.#isStopped) await forever(signal);
    const runId = attemptId(job.runId, job.attempt);
    const beginning = this.#begin(runId, job, params, signal);
    this.#beginnings.add(beginning);
    await beginning.finally(() => this.#beginnings.delete(beginning));
    return this.#ended(runId, signal);
  }

  /**
   * Begins nothing more. Resolves when what was being begun has begun: a conversation that is begun anew later would stop
   * whatever the next generation of this plugin has running there by then.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#beginnings);
  }

  async #begin(runId: string, job: WebhookJob, params: AgentParams, signal: AbortSignal): Promise<void> {
    const { runs, sessions, agents, clock } = this.#sources;
    const { sessionKey, thinking, model, timeoutSeconds, deliver } = params;
    // Spec: §5.5: a new session id for every run; a key that was never used gets one anyway.
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
   * Whether the newest run of the job called tools. Its record says so: the conversation may have been begun anew since,
   * for the next attempt or by another webhook. The transcript tells of a run whose record does not.
   */
  async tools({ runId }: WebhookJob, sessionKey: string, { calledTools }: RunOutcome): Promise<ToolUse> {
    if (calledTools !== undefined) return calledTools ? "some" : "none";
    return toolUse(await this.#sources.sessions.transcript(sessionKey, LOOKED_THROUGH), runId);
  }

  /** Other runs of the session are let to end: beginning a new conversation would stop them. */
  async #idle(sessionKey: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const [active] = this.#sources.runs.active(sessionKey);
      if (!active) return;
      await this.#ended(active.runId, signal);
    }
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

/** Until the host lets go: an answer before that would count as an attempt that failed. @throws GatewayError `UNAVAILABLE` */
function forever(signal: AbortSignal): Promise<never> {
  return untilAborted(new Promise<never>(() => undefined), signal).catch(stopping);
}

/** Runs an isolated job as a run of its agent: starts it once, finds it again after a crash, and follows it to its end. */
import { endOfRun } from "@svc/kit/runs";
import { AnySignal, currentTimeLine } from "@svc/kit/time";
import { type Clock, GATEWAY_WORDS, type Origin, pause, type Principal } from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import { parseThinkingLevel } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { Definition, Fire } from "../store/records.ts";

/** Spec: §10. */
const DEFAULT_TIMEOUT_MS = 3_600_000;
/** Choice: milliseconds after its timeout when cron aborts a run, and after that when it abandons the run. */
const OVERTIME_MS = 60_000;
const GIVEN_UP_AFTER_MS = 30_000;

/** The principal of the runs. Choice: at most read and write, as for sub-agents, regardless of who added the job. */
const PRINCIPAL: Principal = {
  id: "plugin:cron",
  role: "operator",
  scopes: ["operator.read", "operator.write"],
  provenance: "plugin",
  epoch: 0,
};

const DELIVERY_PROMPT =
  "This is a scheduled job; no user is present. Your last message is delivered unchanged: make it a short report in " +
  "plain text, and do not send it yourself with a tool. If there is nothing to report, answer only NO_REPLY.";

type AgentPayload = Extract<Definition["payload"], { kind: "agentTurn" }>;

export interface AgentRunSources {
  readonly runs: Pick<AgentRuns, "start" | "state" | "wait" | "abort" | "whenIdle">;
  readonly sessions: Pick<Sessions, "canonicalKey" | "get" | "reset" | "ensure">;
  readonly agents: Pick<AgentDirectory, "has" | "defaultId" | "timeZone">;
  readonly clock: Clock;
}

interface KeySources {
  readonly sessions: Pick<Sessions, "canonicalKey">;
  readonly agents: Pick<AgentDirectory, "has" | "defaultId">;
}

/** A finished run. */
export interface AgentRunEnd {
  readonly outcome: RunOutcome;
  readonly sessionKey: string;
  /** Session that holds only this run. */
  readonly runKey?: string;
}

/** Key of the job's session. Spec: http/sessions-routing.md §2. */
export function jobSessionKey({ id, agentId }: Definition, { sessions, agents }: AgentRunSources): string {
  return sessions.canonicalKey(`agent:${agentOf(agentId, agents)}:cron:${id}`);
}

/** The main session of the job's agent. */
export function mainKey({ agentId }: Pick<Definition, "agentId">, { sessions, agents }: KeySources): string {
  return sessions.canonicalKey(`agent:${agentOf(agentId, agents)}:main`);
}

/** The session a job belongs to: its `sessionKey`, e.g. the chat it was created in, else the main session of its agent. */
export function homeKey(job: Pick<Definition, "agentId" | "sessionKey">, sources: KeySources): string {
  return job.sessionKey ? sources.sessions.canonicalKey(job.sessionKey) : mainKey(job, sources);
}

/** Choice: jobs of a removed agent run as the default agent. */
export function agentOf(agentId: string | undefined, agents: KeySources["agents"]): string {
  return agentId !== undefined && agents.has(agentId) ? agentId : agents.defaultId;
}

/**
 * Starts the run, or finds the run that an earlier process started under the same id.
 * @param signal aborted to stop following the run; the run itself goes on
 * @throws GatewayError `UNAVAILABLE` when no run was accepted; the signal's reason
 */
export async function runAgent(
  job: Definition,
  payload: AgentPayload,
  fire: Fire,
  sources: AgentRunSources,
  signal: AbortSignal,
): Promise<AgentRunEnd> {
  const sessionKey = jobSessionKey(job, sources);
  const models = [payload.model, ...(payload.fallbacks ?? [])];
  for (let attempt = 0; ; attempt += 1) {
    const runId = attempt === 0 ? fire.runId : `${fire.runId}:${attempt + 1}`;
    if (!(await sources.runs.state(runId)))
      await begin(runId, sessionKey, job, { ...payload, model: models[attempt] }, sources, signal);
    const outcome = await ended(runId, timeoutOf(payload), sources, signal);
    const mayRepeat = outcome.status === "error" && outcome.retryable === true && outcome.calledTools === false;
    if (mayRepeat && attempt + 1 < models.length) continue;
    const { sessionId } = outcome;
    return { outcome, sessionKey, ...(sessionId ? { runKey: await keepSession(sessionKey, sessionId, sources) } : {}) };
  }
}

type AttemptPayload = Omit<AgentPayload, "model"> & { readonly model: string | undefined };

async function begin(
  runId: string,
  sessionKey: string,
  job: Definition,
  { message, model, thinking, timeoutSeconds, lightContext }: AttemptPayload,
  { runs, sessions, agents, clock }: AgentRunSources,
  signal: AbortSignal,
): Promise<void> {
  const { id, name, delivery } = job;
  const restart = async () => {
    if (await sessions.get(sessionKey)) await sessions.reset(sessionKey, "new");
    signal.throwIfAborted();
  };
  const level = thinking === undefined ? undefined : parseThinkingLevel(thinking);
  const request: RunRequest = {
    runId,
    sessionKey,
    message: `[cron:${id} ${name}] ${message}\n${currentTimeLine(clock.now(), agents.timeZone)}`,
    source: "cron",
    origin: textOrigin(job),
    lane: "cron",
    principal: PRINCIPAL,
    timeoutMs: timeoutOf({ timeoutSeconds }),
    ...(model === undefined ? {} : { model }),
    ...(level === undefined ? {} : { thinking: level }),
    ...(lightContext === true ? { lightContext } : {}),
    ...(delivery?.mode === "announce" ? { extraSystemPrompt: DELIVERY_PROMPT } : {}),
  };
  // A new conversation would stop other runs of the session.
  await runs.whenIdle(sessionKey, signal, () => runs.start(request, restart));
}

/** Source of the job's text. */
export function textOrigin({ origin = GATEWAY_WORDS }: Pick<Definition, "origin">): Origin {
  return origin;
}

/** 0: no limit. */
function timeoutOf({ timeoutSeconds }: { readonly timeoutSeconds?: number | undefined }): number {
  return timeoutSeconds === undefined ? DEFAULT_TIMEOUT_MS : timeoutSeconds * 1_000;
}

/** Keeps the conversation under its own key, since the next run resets the session. Spec: §10. */
async function keepSession(sessionKey: string, sessionId: string, { sessions }: AgentRunSources): Promise<string> {
  const key = `${sessionKey}:run:${sessionId}`;
  await sessions.ensure(key, { sessionId });
  return key;
}

/** Waits for the end of a run. A run that exceeds its timeout is aborted, and abandoned if even that does not end it. */
async function ended(
  runId: string,
  timeoutMs: number,
  { runs, clock }: AgentRunSources,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const over = new AnySignal(signal);
  try {
    const ending = endOfRun(runId, { runs: () => runs, clock }, over.signal).then(({ outcome }) => outcome);
    return await Promise.race([
      ending,
      ...(timeoutMs === 0 ? [] : [givenUp(runId, timeoutMs, { runs, clock }, over.signal)]),
    ]);
  } finally {
    over.abort();
  }
}

/** The outcome of a run that ends neither in time nor when aborted. @throws the signal's reason */
async function givenUp(
  runId: string,
  timeoutMs: number,
  { runs, clock }: Pick<AgentRunSources, "runs" | "clock">,
  signal: AbortSignal,
): Promise<RunOutcome> {
  await pause(timeoutMs + OVERTIME_MS, clock, signal);
  signal.throwIfAborted();
  runs.abort(runId, "timeout");
  await pause(GIVEN_UP_AFTER_MS, clock, signal);
  signal.throwIfAborted();
  const errorMessage = "the run exceeded its timeout, could not be stopped and was abandoned";
  return { runId, sessionKey: "", status: "error", endedAt: clock.now(), text: "", errorMessage };
}

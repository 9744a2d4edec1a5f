/**
 * One run from the head of its lane to its end, with every step on disk before it is told.
 *
 * Storage sees: the user's message together with `running`, each message of the turn, and the last one together
 * with the end.
 */
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { Models, RunOutcome, SessionEntry, Sessions, Storage, UserMessage } from "@svc/sdk/services";
import { untilAborted } from "./abort-race.ts";
import type { AgentsConfig } from "./config.ts";
import { errorMessage } from "./gateway-messages.ts";
import type { LiveRun } from "./live-run.ts";
import { ModelChain } from "./model-chain.ts";
import { persist } from "./persist.ts";
import { type Preparation, type PreparationSources, prepareRun } from "./preparation.ts";
import { visibilityOf } from "./run-events.ts";
import type { RunStore } from "./run-store.ts";
import { runTurn, type TurnResult } from "./turn.ts";

/** Longest time a timer can count. */
const MAX_TIMER_MS = 2_147_483_647;

export interface Environment extends PreparationSources {
  readonly services: { readonly storage: Storage; readonly sessions: Sessions; readonly models: Models };
  readonly store: RunStore;
  readonly defaults: AgentsConfig["defaults"];
  readonly clock: Clock;
  readonly log: Logger;
}

/** What became of a turn, and with which session and model. */
interface Conducted {
  readonly result: TurnResult;
  readonly entry: SessionEntry | undefined;
  readonly chain?: ModelChain;
}

/** Never rejects. @returns `undefined` when the run was abandoned: its record is left to the next start, or to who took it. */
export async function execute(run: LiveRun, env: Environment): Promise<RunOutcome | undefined> {
  try {
    await begin(run, env);
  } catch (error) {
    if (isGatewayError(error) && error.code === "CONFLICT") run.abandon(); // another gateway on this storage has begun it
    if (run.abandoned.aborted) return undefined;
    return endUnstarted(run, env, run.signal.aborted ? undefined : error);
  }
  const conducted = await conduct(run, env);
  if (run.abandoned.aborted) return undefined;
  run.phase = "ending";
  return end(run, env, conducted);
}

/** Ends a run that never started. Choice: its message is not put into the transcript. `error` absent: it was aborted. */
export async function endUnstarted(run: LiveRun, env: Environment, error?: unknown): Promise<RunOutcome | undefined> {
  run.phase = "ending";
  const { runId, sessionKey } = run.request;
  const ended = { runId, sessionKey, endedAt: env.clock.now(), text: "" };
  const outcome: RunOutcome =
    error === undefined
      ? { ...ended, status: "aborted", abortReason: run.abortReason }
      : { ...ended, status: "error", errorMessage: isGatewayError(error) ? error.message : "the run could not start" };
  if (error !== undefined) env.log.error({ err: error, runId }, "a run could not start");
  const write = () => env.services.storage.transaction([env.store.ended(outcome, "accepted")]);
  return stored(write, outcome, run, env);
}

async function begin(run: LiveRun, env: Environment): Promise<void> {
  const { clock, services, store } = env;
  const { runId, sessionKey, message, images = [] } = run.request;
  const startedAt = clock.now();
  const text = message === "" ? [] : [{ type: "text" as const, text: message }];
  const userMessage: UserMessage = { role: "user", content: [...text, ...images], timestamp: startedAt };
  const write = () => services.sessions.append(sessionKey, [userMessage], [store.started(runId, startedAt)]);
  const isDone = async () => (await store.find(runId))?.state.status === "running";
  await persist(write, { clock, signal: run.signal, isDone });
  run.phase = "running";
  run.startedAt = startedAt;
  run.events.emit("lifecycle", { phase: "start", startedAt });
}

/** The turn, within its time. */
async function conduct(run: LiveRun, env: Environment): Promise<Conducted> {
  const { clock, services, defaults } = env;
  const timeoutMs = run.request.timeoutMs ?? defaults.timeoutSeconds * 1_000;
  const stopTimer =
    timeoutMs === 0 ? undefined : clock.setTimeout(() => run.abort("timeout"), Math.min(timeoutMs, MAX_TIMER_MS));
  let entry: SessionEntry | undefined;
  try {
    entry = await untilAborted(services.sessions.get(run.request.sessionKey), run.signal);
    run.events.visibility = visibilityOf(entry, defaults.verboseDefault);
    const prepared = await untilAborted(prepareRun(run.request, entry, env), run.signal);
    const chain = modelChain(run, env, prepared);
    return { result: await turn(run, env, prepared, chain), entry, chain };
  } catch (error) {
    return { result: unprepared(run, env, error), entry };
  } finally {
    stopTimer?.();
  }
}

function modelChain(run: LiveRun, { services }: Environment, prepared: Preparation): ModelChain {
  const { models, system, tools, thinking } = prepared;
  return new ModelChain(
    models,
    (model, messages) =>
      services.models.stream(
        {
          model,
          system,
          messages,
          tools,
          sessionKey: run.request.sessionKey,
          ...(thinking === undefined ? {} : { thinking }),
        },
        run.signal,
      ),
    (data) => run.events.emit("lifecycle", data),
  );
}

function turn(run: LiveRun, env: Environment, prepared: Preparation, chain: ModelChain): Promise<TurnResult> {
  const { clock, defaults, services, tools } = env;
  const { runId, sessionKey, principal } = run.request;
  const { signal } = run;
  return runTurn({
    runId,
    history: prepared.history,
    maxToolRounds: defaults.maxToolRounds,
    signal,
    abortReason: () => run.abortReason,
    ask: (messages) => chain.ask(messages, signal),
    model: () => chain.current,
    useTool: ({ id, name, arguments: args }) =>
      tools.use(
        { name, toolCallId: id, arguments: args, runId, sessionKey, agentId: prepared.agentId },
        principal,
        signal,
      ),
    emit: (stream, data) => run.events.emit(stream, data),
    record: (messages) => persist(() => services.sessions.append(sessionKey, messages), { clock, signal }),
    now: () => clock.now(),
  });
}

/** The result of a run whose session, model or prompt could not be had. */
function unprepared(run: LiveRun, env: Environment, cause: unknown): TurnResult {
  if (run.signal.aborted) return { status: "aborted", text: "", closing: [] };
  const text = isGatewayError(cause) ? cause.message : "the agent run failed";
  const message = errorMessage(text, env.clock.now());
  return { status: "error", text: "", closing: [message], message, errorMessage: text, cause };
}

async function end(run: LiveRun, env: Environment, conducted: Conducted): Promise<RunOutcome | undefined> {
  const { services, store, log } = env;
  const { runId, sessionKey } = run.request;
  const { result } = conducted;
  const outcome = outcomeOf(run, conducted, env.clock.now());
  if (result.status === "error")
    log.warn({ err: result.cause, runId, sessionKey }, `run failed: ${result.errorMessage}`);
  const update = store.ended(outcome, "running");
  const write = async () => {
    if (result.closing.length > 0) await services.sessions.append(sessionKey, result.closing, [update]);
    else await services.storage.transaction([update]);
  };
  const kept = await stored(write, outcome, run, env);
  if (kept) await noteOnSession(run, env, conducted);
  return kept;
}

/** Stores the end of a run. What cannot be stored for another reason than storage itself is told as an error. */
async function stored(
  write: () => Promise<unknown>,
  outcome: RunOutcome,
  run: LiveRun,
  { clock, log, store }: Environment,
): Promise<RunOutcome | undefined> {
  const isDone = async () => (await store.find(outcome.runId))?.state.status === outcome.status;
  try {
    await persist(write, { clock, signal: run.abandoned, isDone });
    return outcome;
  } catch (error) {
    if (run.abandoned.aborted) return undefined;
    // The record stays open, and the next start closes it as interrupted.
    log.error({ err: error, runId: outcome.runId }, "the end of a run could not be stored");
    return { ...outcome, status: "error", errorMessage: "the reply could not be stored" };
  }
}

function outcomeOf(run: LiveRun, { result, entry, chain }: Conducted, endedAt: number): RunOutcome {
  const { runId, sessionKey } = run.request;
  return {
    runId,
    sessionKey,
    status: result.status,
    ...(run.startedAt === undefined ? {} : { startedAt: run.startedAt }),
    endedAt,
    text: result.text,
    ...(result.errorMessage === undefined ? {} : { errorMessage: result.errorMessage }),
    ...(result.status === "aborted" ? { abortReason: run.abortReason } : {}),
    ...(result.message ? { message: result.message } : {}),
    ...(result.usage ? { usage: result.usage } : {}),
    ...(chain ? { provider: chain.current.provider, model: chain.current.id } : {}),
    ...(entry ? { sessionId: entry.sessionId } : {}),
  };
}

/** What sessions show about their last run. Tokens of a run without a report count as stale. Never rejects. */
async function noteOnSession(run: LiveRun, env: Environment, { result, chain }: Conducted): Promise<void> {
  const { usage, lastUsage } = result;
  const tokens =
    usage && lastUsage
      ? { inputTokens: usage.input, outputTokens: usage.output, totalTokens: lastUsage.totalTokens }
      : {};
  const model = chain?.current;
  try {
    await env.services.sessions.update(run.request.sessionKey, {
      abortedLastRun: result.status === "aborted",
      totalTokensFresh: usage !== undefined,
      ...tokens,
      ...(model ? { model: model.id, modelProvider: model.provider } : {}),
      ...(model?.contextWindow === undefined ? {} : { contextTokens: model.contextWindow }),
    });
  } catch (error) {
    env.log.warn({ err: error, runId: run.id }, "the session could not be told about its run");
  }
}

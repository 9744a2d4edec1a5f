/**
 * One turn of a session from the head of its queue to its end, with every step on disk before it is told.
 *
 * Storage sees: the user's message together with `running` and the ends of the runs whose messages go along, each
 * message of the turn, and the last one together with the end.
 */
import { isGatewayError, persist } from "@svc/sdk";
import { acknowledged, type Acknowledged, type Message, type RunOutcome, type UserMessage } from "@svc/sdk/services";
import { compactCommand } from "../history/compaction-plan.ts";
import { conduct, type Conducted } from "./conduct.ts";
import type { Environment, Ties } from "./environment.ts";
import type { LiveRun } from "./live-runs.ts";
import { load, type Loaded } from "./preparation.ts";
import { turnImages, turnMessage } from "./queue-plan.ts";
import type { RunStore } from "./store.ts";
import { failureFacts } from "./retryable.ts";
import { noteOnSession } from "./session-note.ts";
import type { Turn } from "./queue.ts";
import type { TurnResult } from "./turn.ts";

export interface Executed {
  /** `undefined` when the run was abandoned: its record is left to the next start, or to who took it. */
  readonly outcome: RunOutcome | undefined;
  /** Runs of the turn that were not reached and wait again. */
  readonly returned: readonly LiveRun[];
}

/** Never rejects. */
export async function execute(turn: Turn, env: Environment, ties: Ties): Promise<Executed> {
  const run = turn.leader;
  let loading: Promise<Loaded>;
  try {
    ({ loading } = await begin(turn, env, ties));
  } catch (error) {
    if (run.abandoned.aborted) return { outcome: undefined, returned: [] };
    if (isGatewayError(error) && error.code === "CONFLICT") return stillOurs([...others(turn), run], env);
    const outcome = await endUnstarted(run, env, run.signal.aborted ? undefined : error);
    return { outcome, returned: others(turn) };
  }
  const conducted = await conduct(run, env, loading, ties);
  if (run.abandoned.aborted) return { outcome: undefined, returned: [] };
  run.phase = "ending";
  return { outcome: await end(run, env, conducted), returned: [] };
}

/** Runs whose messages go into the turn. */
const others = ({ overflow, merged }: Turn): readonly LiveRun[] => [...overflow, ...merged];

/** Another gateway on this storage has begun one of them: that one is its own, the rest waits again. */
async function stillOurs(runs: readonly LiveRun[], { store, log }: Environment): Promise<Executed> {
  const records =
    runs.length === 1 ? [undefined] : await Promise.all(runs.map(({ id }) => store.find(id).catch(() => undefined)));
  const returned = runs.filter((_run, index) => records[index]?.state.status === "accepted");
  const gone = runs.filter((run) => !returned.includes(run));
  for (const run of gone) run.abandon();
  if (gone.length > 0) return { outcome: undefined, returned };
  log.error({ runIds: runs.map(({ id }) => id) }, "a turn could not begin; its runs are left to the next start");
  for (const run of runs) run.abandon();
  return { outcome: undefined, returned: [] };
}

/** Ends a run that never started. Choice: its message is not put into the transcript. `error` absent: it was aborted. */
export async function endUnstarted(run: LiveRun, env: Environment, error?: unknown): Promise<RunOutcome | undefined> {
  run.phase = "ending";
  const { runId, sessionKey } = run.request;
  const ended = { runId, sessionKey, endedAt: env.clock.now(), text: "" };
  const outcome: RunOutcome =
    error === undefined
      ? { ...ended, status: "aborted", abortReason: run.abortReason }
      : {
          ...ended,
          status: "error",
          errorMessage: isGatewayError(error) ? error.message : "the run could not start",
          ...failureFacts(error),
          calledTools: false,
        };
  if (error !== undefined) env.log.error({ err: error, runId }, "a run could not start");
  const write = () => env.services.storage.transaction([env.store.ended(outcome, "accepted")]);
  return stored(write, outcome, run, env);
}

/** @returns what the session has, read beside the write, with the run's own messages at its end */
async function begin(turn: Turn, env: Environment, ties: Ties): Promise<{ readonly loading: Promise<Loaded> }> {
  const { clock, services, store } = env;
  const run = turn.leader;
  const { runId, sessionKey, history = [] } = run.request;
  const startedAt = clock.now();
  const tookOver = takenOver(turn, startedAt);
  for (const { run: other } of tookOver) other.phase = "ending";
  const changes = [store.started(runId, startedAt), ...tookOver.map(({ outcome }) => store.ended(outcome, "accepted"))];
  const own = ownMessages(turn, startedAt);
  const adopts = history.length > 0 && (await services.sessions.transcript(sessionKey, 1)).length === 0;
  const messages = adopts ? [...history, ...own] : own;
  const mayTakeBack = run.request.acknowledgement !== undefined && others(turn).length === 0;
  const before = mayTakeBack ? await services.sessions.get(sessionKey) : undefined;
  const reading = load(run.request, env);
  reading.catch(() => undefined); // it is awaited once the write has succeeded
  let ids: readonly string[] = [];
  const write = async () => {
    if (compactCommand(run.request) !== undefined) await services.storage.transaction(changes);
    else ids = await services.sessions.append(sessionKey, messages, changes);
  };
  const isDone = async () => (await store.find(runId))?.state.status === "running";
  await persist(write, { clock, signal: run.signal, isDone });
  run.phase = "running";
  run.startedAt = startedAt;
  run.events.emit("lifecycle", { phase: "start", startedAt });
  for (const { run: other, outcome } of tookOver) ties.tookOver(other, outcome);
  if (mayTakeBack && ids.length === messages.length) run.traces = { ids: [...ids], unusedSince: before?.updatedAt };
  const written = ids.length === messages.length ? messages.map((message, index) => itemOf(message, ids[index])) : [];
  const withOwn = withMessages(reading, written, env, run.request);
  const loading = adopts || history.length === 0 ? withOwn : withOwn.then((loaded) => given(loaded, history, own));
  loading.catch(() => undefined); // whoever conducts the turn awaits it
  return { loading };
}

const itemOf = (message: Message, id = "") => ({ id, message });

/** The read may have come before the write or after it; and a new session may not have been there yet. */
async function withMessages(
  reading: Promise<Loaded>,
  written: readonly { readonly id: string; readonly message: Message }[],
  env: Environment,
  request: LiveRun["request"],
): Promise<Loaded> {
  const loaded = await reading;
  if (written.length === 0 || !loaded.entry) return load(request, env);
  const { summary, items } = loaded.context;
  const others = items.filter(({ id }) => !written.some((item) => item.id === id));
  return { ...loaded, context: { summary, items: [...others, ...written] } };
}

/** The conversation as the caller has it stands in for that of the session. */
function given(loaded: Loaded, history: readonly Message[], own: readonly Message[]): Loaded {
  const items = [...history, ...own].map((message) => itemOf(message));
  return { ...loaded, isGiven: true, context: { summary: undefined, items } };
}

function takenOver({ leader, merged, overflow }: Turn, endedAt: number) {
  const into = (run: LiveRun, abortReason: string) => {
    const { runId, sessionKey } = run.request;
    const outcome: RunOutcome = {
      runId,
      sessionKey,
      status: "aborted",
      endedAt,
      text: "",
      abortReason,
      mergedInto: leader.id,
    };
    return { run, outcome };
  };
  return [...overflow.map((run) => into(run, "dropped")), ...merged.map((run) => into(run, "collected"))];
}

/** What the run adds before its first question: answers to tool calls, then the user's words where there are some. */
function ownMessages(turn: Turn, timestamp: number): readonly Message[] {
  const { toolResults = [] } = turn.leader.request;
  const text = turnMessage(turn);
  const content: UserMessage["content"] = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...turnImages(turn),
  ];
  const said: readonly UserMessage[] =
    content.length === 0 && toolResults.length > 0 ? [] : [{ role: "user", content, timestamp }];
  return [...toolResults, ...said];
}

async function end(run: LiveRun, env: Environment, conducted: Conducted): Promise<RunOutcome | undefined> {
  const { services, store, log } = env;
  const { runId, sessionKey } = run.request;
  const { result } = conducted;
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
    } else if (result.closing.length > 0) await services.sessions.append(sessionKey, result.closing, [update]);
    else await services.storage.transaction([update]);
  };
  const kept = await stored(write, outcome, run, env);
  if (kept && takenBack === undefined) await noteOnSession(run, env, conducted);
  return kept;
}

/** Why what the run said is to be taken back; `undefined`: it stays. */
function nothingSaid({ request, traces }: LiveRun, { status, text }: TurnResult): Acknowledged | undefined {
  if (!request.acknowledgement || !traces || status !== "ok") return undefined;
  const verdict = acknowledged(text, request.acknowledgement);
  return "nothing" in verdict ? verdict.nothing : undefined;
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
    if (run.abandoned.aborted || (await isOver(error, outcome.runId, store))) return undefined;
    // The record stays open, and the next start closes it as interrupted.
    log.error({ err: error, runId: outcome.runId }, "the end of a run could not be stored");
    return { ...outcome, status: "error", errorMessage: "the reply could not be stored" };
  }
}

/** Whether somebody else has ended the run, and told so: a gateway on the same storage, or the one before this. */
async function isOver(thrown: unknown, runId: string, store: RunStore): Promise<boolean> {
  if (!isGatewayError(thrown) || thrown.code !== "CONFLICT") return false;
  return (await store.find(runId).catch(() => undefined))?.outcome !== undefined;
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
    ...(result.status === "error" ? failureFacts(result.cause) : {}),
    ...(result.status === "error" ? { calledTools: result.calledTools } : {}),
    ...(result.status === "aborted" ? { abortReason: run.abortReason } : {}),
    ...(result.message ? { message: result.message, stopReason: result.message.stopReason } : {}),
    ...(result.pendingCalls ? { pendingCalls: result.pendingCalls } : {}),
    ...(result.usage ? { usage: result.usage } : {}),
    ...(chain ? { provider: chain.current.provider, model: chain.current.id } : {}),
    ...(entry ? { sessionId: entry.sessionId } : {}),
  };
}

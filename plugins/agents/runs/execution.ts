/**
 * Executes one turn of a session from the head of its queue to its outcome. Every step is stored before it is announced.
 *
 * There are three kinds of transaction: the user's message with the state `running` and the ends of the merged runs;
 * each further message of the turn; the last message with the end of the run.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { persist } from "@svc/kit/persist";
import { isGatewayError, untilAborted } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import type { MediaPlace } from "@svc/sdk/media";
import { inputKeyOf, type Message, type UserMessage } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import { errorMessage, gatewayMessage } from "../history/gateway-messages.ts";
import { Conversation } from "./conversation.ts";
import { end, endUnstarted } from "./ending.ts";
import { DescribedImages } from "./described.ts";
import type { Environment, Ties } from "./environment.ts";
import { visibilityOf } from "./events.ts";
import { Heard } from "./heard.ts";
import type { LiveRun } from "./live-runs.ts";
import { ModelChain } from "./model-chain.ts";
import { type Conducted, mergedOutcome } from "./outcome.ts";
import { load, type Loaded, type Preparation, prepareRun } from "./preparation.ts";
import { turnImages, turnMessage, turnOrigin } from "./queue-plan.ts";
import type { Turn } from "./queue.ts";
import { takeSteered } from "./steering.ts";
import type { RunRecord } from "./store.ts";
import { runTurn, type TurnResult } from "./turn.ts";

export interface Executed {
  /** `undefined` when the run was abandoned: the next start, or the gateway that took it over, handles its record. */
  readonly outcome: RunOutcome | undefined;
  /** Runs of the turn that did not start and have to wait again. */
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
  await nextTurn(); // the whole text was emitted in this turn of the event loop; storing and announcing it take as long
  // Before the end is known: the next message may run at another gateway.
  await env.files?.push(env.services.sessions.agentOf(run.request.sessionKey));
  return { outcome: await end(run, env, conducted), returned: [] };
}

/** Runs whose messages are merged into the turn. */
const others = ({ overflow, merged }: Turn): readonly LiveRun[] => [...overflow, ...merged];

/** Another gateway on this storage has started one of the runs and owns it; the others wait again. */
async function stillOurs(runs: readonly LiveRun[], { store, log }: Environment): Promise<Executed> {
  const records =
    runs.length === 1 ? [undefined] : await Promise.all(runs.map(({ id }) => store.find(id).catch(() => undefined)));
  const isOurs = (record: RunRecord | undefined) =>
    record?.state.status === "accepted" && record.owner === store.owner.id;
  const returned = runs.filter((_run, index) => isOurs(records[index]));
  const gone = runs.filter((run) => !returned.includes(run));
  for (const run of gone) run.abandon();
  if (gone.length > 0) return { outcome: undefined, returned };
  log.error(
    { runIds: runs.map(({ id }) => id) },
    "a turn could not start; the next start of the gateway recovers its runs",
  );
  for (const run of runs) run.abandon();
  return { outcome: undefined, returned: [] };
}

/**
 * Stores the start of the run and its message, and announces both.
 * @returns the session, read in parallel with the write, with the run's own messages at the end
 */
async function begin(turn: Turn, env: Environment, ties: Ties): Promise<{ readonly loading: Promise<Loaded> }> {
  const { clock, services, store } = env;
  const run = turn.leader;
  const { runId, sessionKey, history = [] } = run.request;
  const isResumed = run.resumedFrom !== undefined;
  const startedAt = run.resumedFrom ?? clock.now();
  const tookOver = [
    ...turn.overflow.map((other) => ({ other, outcome: mergedOutcome(other, run, "dropped", startedAt) })),
    ...turn.merged.map((other) => ({ other, outcome: mergedOutcome(other, run, "collected", startedAt) })),
  ];
  for (const { other } of tookOver) other.phase = "ending";
  const changes = [store.started(runId, startedAt), ...tookOver.map(({ outcome }) => store.ended(outcome, "accepted"))];
  const own = isResumed ? [] : ownMessages(turn, startedAt);
  const adopts = history.length > 0 && (await services.sessions.transcript(sessionKey, 1)).length === 0;
  const given = history.map((message) => ({ ...message, ...turnOrigin(turn) }));
  const messages = adopts ? [...given, ...own] : own;
  const mayTakeBack = run.request.acknowledgement !== undefined && others(turn).length === 0;
  const before = mayTakeBack ? await services.sessions.get(sessionKey) : undefined;
  const reading = load(run.request, env);
  reading.catch(() => undefined); // awaited once the write has succeeded
  let ids: readonly string[] = [];
  const write = async () => {
    if (isResumed || run.request.compact !== undefined) await services.storage.transaction(changes);
    else ids = await services.sessions.append(sessionKey, messages, changes);
  };
  const isDone = async () => (await store.find(runId))?.state.status === "running";
  await persist(write, { clock, signal: run.signal, isDone });
  run.begin(startedAt);
  run.events.emit("lifecycle", { phase: "start", startedAt });
  for (const { other, outcome } of tookOver) ties.tookOver(other, outcome);
  if (mayTakeBack && ids.length === messages.length) run.traces = { ids: [...ids], unusedSince: before?.updatedAt };
  const written = ids.length === messages.length ? messages.map((message, index) => itemOf(message, ids[index])) : [];
  const withOwn = withMessages(reading, written, env, run.request);
  const loading =
    adopts || history.length === 0 ? withOwn : withOwn.then((loaded) => instead(loaded, [...given, ...own]));
  loading.catch(() => undefined); // `conduct` awaits it
  return { loading };
}

const itemOf = (message: Message, id = "") => ({ id, message });

/** Adds the written messages: the read may have happened before or after the write, or before the session existed. */
async function withMessages(
  reading: Promise<Loaded>,
  written: readonly { readonly id: string; readonly message: Message }[],
  env: Environment,
  request: LiveRun["request"],
): Promise<Loaded> {
  const loaded = await reading;
  if (written.length === 0) return load(request, env);
  const entry = loaded.entry ?? (await env.services.sessions.get(request.sessionKey));
  const { items } = loaded.context;
  const earlier = items.filter(({ id }) => !written.some((item) => item.id === id));
  return { ...loaded, entry, context: { ...loaded.context, items: [...earlier, ...written] } };
}

/** Replaces the conversation of the session with the one given by the caller. */
function instead(loaded: Loaded, messages: readonly Message[]): Loaded {
  const items = messages.map((message) => itemOf(message));
  return { ...loaded, isGiven: true, context: { summary: undefined, items } };
}

/** Messages that the run adds before its first request: results of client tools, then the user's message, if any. */
function ownMessages(turn: Turn, timestamp: number): readonly Message[] {
  const { runId, toolResults = [] } = turn.leader.request;
  const origin = turnOrigin(turn);
  const text = turnMessage(turn);
  const content: UserMessage["content"] = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...turnImages(turn),
  ];
  const said: readonly UserMessage[] =
    content.length === 0 && toolResults.length > 0
      ? []
      : [{ role: "user", content, timestamp, ...origin, idempotencyKey: inputKeyOf(runId) }];
  return [...toolResults.map((result) => ({ ...result, ...origin })), ...said];
}

/** Prepares the run and lets the model answer, within the timeout of the run. Never rejects. */
async function conduct(run: LiveRun, env: Environment, loading: Promise<Loaded>, ties: Ties): Promise<Conducted> {
  const { clock } = env;
  const { defaults } = env.config();
  const timeoutMs = run.request.timeoutMs ?? defaults.timeoutSeconds * 1_000;
  const stopTimer = timeoutMs === 0 ? undefined : clock.setTimeout(() => run.abort("timeout"), timeoutMs);
  let entry: SessionEntry | undefined;
  const heard = new Heard();
  try {
    const loaded = await untilAborted(loading, run.signal);
    entry = loaded.entry;
    heard.add(loaded.context.origin, loaded.context.summary);
    heard.addMessages(loaded.context.items.map(({ message }) => message));
    run.events.sessionId = entry?.sessionId;
    run.events.visibility = visibilityOf(entry, defaults.verboseDefault);
    const prepared = await untilAborted(prepareRun(run.request, loaded, heard, env), run.signal);
    const chain = chainOf(run, env, prepared, entry);
    const conversation = new Conversation(run, env, loaded, () => chain.current);
    const { compact: instructions } = run.request;
    if (instructions !== undefined) {
      const isCompacted = (await conversation.compact(instructions)) !== undefined;
      return { result: compactedResult(isCompacted, clock.now()), entry, heard };
    }
    const result = await answer(run, env, { conversation, chain, ties, heard, tools: prepared.tools });
    if (result.status === "ok") emitCleared(run, entry, chain);
    return { result, entry, heard, chain, report: prepared.report };
  } catch (error) {
    return { result: unprepared(run, env, error), entry, heard };
  } finally {
    stopTimer?.();
  }
}

/** Runs the turn of `turn.ts` with storage, fallback models and steering. */
async function answer(
  run: LiveRun,
  env: Environment,
  {
    conversation,
    chain,
    ties,
    heard,
    tools,
  }: {
    readonly conversation: Conversation;
    readonly chain: ModelChain;
    readonly ties: Ties;
    readonly heard: Heard;
    readonly tools: Preparation["tools"];
  },
): Promise<TurnResult> {
  const { clock, services, store } = env;
  const { signal } = run;
  const { runId, sessionKey } = run.request;
  chain.skipCooling();
  return runTurn({
    runId,
    history: await conversation.history(),
    maxToolRounds: env.config().defaults.maxToolRounds,
    signal,
    abortReason: () => run.abortReason,
    ask: (messages, isFirst) => chain.ask(messages, signal, isFirst),
    model: () => chain.current,
    useTool: (call) => tools.use(call, chain.current, signal),
    isIndependent: (name) => tools.isIndependent(name),
    isClients: (name) => tools.isClients(name),
    mustCall: tools.isForced,
    emit: (stream, data) => run.events.emit(stream, data),
    record: async (recorded) => {
      heard.addMessages(recorded);
      const messages = heard.mark(recorded, runId);
      const write = async () => {
        const ids = await services.sessions.append(sessionKey, messages, [store.owned(runId)]);
        run.traces?.ids.push(...ids);
      };
      await persist(write, { clock, signal }).catch((error: unknown) => {
        if (isGatewayError(error) && error.code === "CONFLICT") run.abandon(); // another gateway has taken over the run
        throw error;
      });
    },
    steer: async () => {
      const messages = await takeSteered(run, env, ties, conversation.limits);
      heard.addMessages(messages);
      return messages;
    },
    shrink: (error) => conversation.shrink(error),
    maxAnswerChars: env.config().defaults.maxAnswerChars,
    clock,
  });
}

function chainOf(run: LiveRun, env: Environment, prepared: Preparation, entry: SessionEntry | undefined): ModelChain {
  const { services, config, descriptions = () => undefined } = env;
  const { models, system, tools, thinking } = prepared;
  const { answerOptions, sessionKey } = run.request;
  const described = new DescribedImages(descriptions, placeOf(sessionKey, entry), run.signal);
  return new ModelChain(
    models,
    async function* (model, messages, isFirst) {
      const request = {
        model,
        system,
        messages: await described.shown(messages, model),
        ...tools.offer(model, isFirst),
        sessionKey,
        maxAnswerChars: config().defaults.maxAnswerChars,
        ...(thinking === undefined ? {} : { thinking }),
        ...(answerOptions === undefined ? {} : { options: answerOptions }),
      };
      yield* services.models.stream(request, run.signal);
    },
    (data) => run.events.emit("lifecycle", data),
    (model) => services.models.coolingUntil(model),
  );
}

function placeOf(sessionKey: string, { channel, chatType }: Partial<SessionEntry> = {}): MediaPlace {
  return {
    sessionKey,
    ...(typeof channel === "string" ? { channel } : {}),
    ...(typeof chatType === "string" ? { chatType } : {}),
  };
}

/** Reports that the selected model answers again after a fallback. Spec: protocol/events.md §3. */
function emitCleared({ events }: LiveRun, entry: SessionEntry | undefined, chain: ModelChain): void {
  const { selected, current } = chain;
  const previous = entry?.["fallbackNoticeActiveModel"];
  if (selected !== current || typeof previous !== "string") return;
  if (entry?.["fallbackNoticeSelectedModel"] !== `${selected.provider}/${selected.id}`) return;
  events.emit("lifecycle", chain.cleared(previous));
}

function compactedResult(isCompacted: boolean, now: number): TurnResult {
  const text = isCompacted
    ? "The older part of this conversation is now a summary."
    : "There is nothing to summarize yet: the conversation is too short.";
  const message = gatewayMessage(text, now);
  return { status: "ok", text, calledTools: false, closing: [message], message };
}

/** The result of a run whose session, model or prompt was not available. */
function unprepared(run: LiveRun, env: Environment, cause: unknown): TurnResult {
  if (run.signal.aborted) return { status: "aborted", text: "", calledTools: false, closing: [] };
  const text = isGatewayError(cause) ? cause.message : "the agent run failed";
  const message = errorMessage(text, env.clock.now());
  return { status: "error", text: "", calledTools: false, closing: [message], message, errorMessage: text, cause };
}

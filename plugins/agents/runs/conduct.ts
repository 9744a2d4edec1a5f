/** The turn of a run that has begun: prepared, within its time, with the model that answers, summed up where it is too long. */
import { isGatewayError, persist, untilAborted } from "@svc/sdk";
import type { Message, SessionEntry } from "@svc/sdk/services";
import { compactCommand, isContextOverflow, isTooFull } from "../history/compaction-plan.ts";
import { compact, type CompactionSetup, tryCompact } from "../history/compaction.ts";
import type { Environment, Ties } from "./environment.ts";
import { errorMessage, gatewayMessage } from "../history/gateway-messages.ts";
import {
  type Context,
  contextHistory,
  HISTORY_MESSAGES,
  limitsOf,
  tokensOf,
  CHARS_PER_TOKEN,
  windowOf,
} from "../history/history.ts";
import type { LiveRun } from "./live-runs.ts";
import { ModelChain } from "./model-chain.ts";
import { type Loaded, type Preparation, prepareRun } from "./preparation.ts";
import { visibilityOf } from "./events.ts";
import { takeSteered } from "./steering.ts";
import { runTurn, type TurnResult } from "./turn.ts";

/** What became of a turn, and with which session and model. */
export interface Conducted {
  readonly result: TurnResult;
  readonly entry: SessionEntry | undefined;
  readonly chain?: ModelChain;
}

/** Never rejects. */
export async function conduct(
  run: LiveRun,
  env: Environment,
  loading: Promise<Loaded>,
  ties: Ties,
): Promise<Conducted> {
  const { clock } = env;
  const { defaults } = env.config();
  const timeoutMs = run.request.timeoutMs ?? defaults.timeoutSeconds * 1_000;
  const stopTimer = timeoutMs === 0 ? undefined : clock.setTimeout(() => run.abort("timeout"), timeoutMs);
  let entry: SessionEntry | undefined;
  try {
    const loaded = await untilAborted(loading, run.signal);
    entry = loaded.entry;
    run.events.visibility = visibilityOf(entry, defaults.verboseDefault);
    const prepared = await untilAborted(prepareRun(run.request, loaded, env), run.signal);
    const conversation = new Conversation(run, env, loaded, prepared);
    const instructions = compactCommand(run.request);
    if (instructions !== undefined) return { result: await conversation.compactByHand(instructions), entry };
    const result = await conversation.turn(ties);
    return { result, entry, chain: conversation.chain };
  } catch (error) {
    return { result: unprepared(run, env, error), entry };
  } finally {
    stopTimer?.();
  }
}

class Conversation {
  readonly #run: LiveRun;
  readonly #env: Environment;
  readonly #loaded: Loaded;
  readonly #prepared: Preparation;
  readonly chain: ModelChain;

  constructor(run: LiveRun, env: Environment, loaded: Loaded, prepared: Preparation) {
    this.#run = run;
    this.#env = env;
    this.#loaded = loaded;
    this.#prepared = prepared;
    this.chain = modelChain(run, env, prepared);
  }

  /** Choice: works on the messages a model would be shown at most; the command itself is not one of them. */
  async compactByHand(instructions: string): Promise<TurnResult> {
    const { clock } = this.#env;
    const setup = this.#compaction(undefined);
    const done = await compact(this.#loaded.context, setup, { instructions });
    const text = done
      ? "The older part of this conversation is now a summary."
      : "There is nothing to sum up yet: the conversation is too short.";
    const message = gatewayMessage(text, clock.now());
    return { status: "ok", text, calledTools: false, closing: [message], message };
  }

  async turn(ties: Ties): Promise<TurnResult> {
    const { clock, services, store } = this.#env;
    const run = this.#run;
    const { runId, sessionKey } = run.request;
    const { tools } = this.#prepared;
    const { signal } = run;
    this.chain.skipCooling();
    const history = this.#history(await this.#fitting());
    const result = await runTurn({
      runId,
      history,
      maxToolRounds: this.#env.config().defaults.maxToolRounds,
      signal,
      abortReason: () => run.abortReason,
      ask: (messages, isFirst) => this.chain.ask(messages, signal, isFirst),
      model: () => this.chain.current,
      useTool: (call) => tools.use(call, this.chain.current, signal),
      isClients: (name) => tools.isClients(name),
      mustCall: tools.isForced,
      emit: (stream, data) => run.events.emit(stream, data),
      record: async (messages) => {
        const write = async () => {
          const ids = await services.sessions.append(sessionKey, messages, [store.owned(runId)]);
          run.traces?.ids.push(...ids);
        };
        await persist(write, { clock, signal }).catch((error: unknown) => {
          if (isGatewayError(error) && error.code === "CONFLICT") run.abandon(); // another gateway has closed it
          throw error;
        });
      },
      steer: () => takeSteered(run, this.#env, ties, this.#limits()),
      shrink: (error) => this.#shrink(error),
      now: () => clock.now(),
    });
    this.#tellCleared(result);
    return result;
  }

  /** The context, summed up before it fills the window. */
  async #fitting(): Promise<Context> {
    const { context, entry, isGiven } = this.#loaded;
    if (isGiven) return context;
    const { contextTokens, compaction } = this.#env.config().defaults;
    const lastTotal = entry?.totalTokensFresh === true ? entry.totalTokens : undefined;
    const window = windowOf(this.chain.current, contextTokens);
    if (!isTooFull(context, { window, reserve: compaction.reserveTokens, lastTotal })) return context;
    return (await tryCompact(context, this.#compaction(lastTotal))) ?? context;
  }

  /** After the model refused a question as too long: a summary, or half of it. */
  async #shrink(error: unknown): Promise<readonly Message[] | undefined> {
    if (!isContextOverflow(error)) return undefined;
    const { services, log } = this.#env;
    const { runId, sessionKey } = this.#run.request;
    log.warn({ err: error, runId, sessionKey }, "the conversation is too long for the model; it is summed up");
    const { isGiven } = this.#loaded;
    const context = isGiven
      ? this.#loaded.context
      : await untilAborted(services.sessions.context(sessionKey, HISTORY_MESSAGES), this.#run.signal);
    const compacted = isGiven ? undefined : await tryCompact(context, this.#compaction(undefined), { willRetry: true });
    if (compacted) return this.#history(compacted);
    const chars = tokensOf(context.items.map(({ message }) => message)) * CHARS_PER_TOKEN;
    const limits = this.#limits();
    return contextHistory(context, { ...limits, budgetChars: Math.floor(Math.min(limits.budgetChars, chars) / 2) });
  }

  #history(context: Context): Message[] {
    return contextHistory(context, this.#limits());
  }

  #limits() {
    return limitsOf(this.chain.current, this.#env.config().defaults.contextTokens);
  }

  #compaction(lastTotal: number | undefined): CompactionSetup {
    const { services, log } = this.#env;
    const { signal, request, events } = this.#run;
    const { sessionKey } = request;
    const model = this.chain.current;
    return {
      sessionKey,
      config: this.#env.config().defaults,
      model,
      lastTotal,
      sessions: services.sessions,
      ask: (system, messages) => services.models.stream({ model, system, messages, tools: [], sessionKey }, signal),
      emit: (stream, data) => events.emit(stream, data),
      signal,
      log,
    };
  }

  /** The selected model answers again after another stood in for it. Spec: protocol/events.md §3. */
  #tellCleared({ status }: TurnResult): void {
    const { entry } = this.#loaded;
    const { selected, current } = this.chain;
    const previous = entry?.["fallbackNoticeActiveModel"];
    if (status !== "ok" || selected !== current || typeof previous !== "string") return;
    if (entry?.["fallbackNoticeSelectedModel"] !== `${selected.provider}/${selected.id}`) return;
    this.#run.events.emit("lifecycle", this.chain.cleared(previous));
  }
}

function modelChain(run: LiveRun, { services }: Environment, prepared: Preparation): ModelChain {
  const { models, system, tools, thinking } = prepared;
  const { answerOptions } = run.request;
  return new ModelChain(
    models,
    (model, messages, isFirst) =>
      services.models.stream(
        {
          model,
          system,
          messages,
          ...tools.offer(model, isFirst),
          sessionKey: run.request.sessionKey,
          ...(thinking === undefined ? {} : { thinking }),
          ...(answerOptions === undefined ? {} : { options: answerOptions }),
        },
        run.signal,
      ),
    (data) => run.events.emit("lifecycle", data),
    (model) => services.models.coolingUntil(model),
  );
}

/** The result of a run whose session, model or prompt could not be had. */
function unprepared(run: LiveRun, env: Environment, cause: unknown): TurnResult {
  if (run.signal.aborted) return { status: "aborted", text: "", calledTools: false, closing: [] };
  const text = isGatewayError(cause) ? cause.message : "the agent run failed";
  const message = errorMessage(text, env.clock.now());
  return { status: "error", text: "", calledTools: false, closing: [message], message, errorMessage: text, cause };
}

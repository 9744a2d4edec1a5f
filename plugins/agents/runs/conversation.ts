/** Builds the history that a run sends to its model: the newest messages, and a summary of older ones if the session is too long. */
import { untilAborted } from "@svc/sdk";
import type { Message, ResolvedModel } from "@svc/sdk/models";
import { isContextOverflow, isTooFull } from "../history/compaction-plan.ts";
import { compact, type CompactionSetup, tryCompact } from "../history/compaction.ts";
import {
  CHARS_PER_TOKEN,
  type Context,
  contextHistory,
  HISTORY_MESSAGES,
  type HistoryLimits,
  limitsOf,
  tokensOf,
  windowOf,
} from "../history/history.ts";
import type { Environment } from "./environment.ts";
import type { LiveRun } from "./live-runs.ts";
import type { Loaded } from "./preparation.ts";

export class Conversation {
  readonly #run: LiveRun;
  readonly #env: Environment;
  readonly #loaded: Loaded;
  readonly #model: () => ResolvedModel;

  /** @param model the current model, which also writes summaries */
  constructor(run: LiveRun, env: Environment, loaded: Loaded, model: () => ResolvedModel) {
    this.#run = run;
    this.#env = env;
    this.#loaded = loaded;
    this.#model = model;
  }

  get limits(): HistoryLimits {
    const { config, agents } = this.#env;
    return limitsOf(this.#model(), config().defaults.contextTokens, agents.timeZone);
  }

  /** The messages of the first request. Summarizes older ones before they fill the window. */
  async history(): Promise<readonly Message[]> {
    const { context, entry, isGiven } = this.#loaded;
    const { contextTokens, compaction } = this.#env.config().defaults;
    const lastTotal = entry?.totalTokensFresh === true ? entry.totalTokens : undefined;
    const window = windowOf(this.#model(), contextTokens);
    const isFull = !isGiven && isTooFull(context, { window, reserve: compaction.reserveTokens, lastTotal });
    const compacted = isFull ? await tryCompact(context, this.#compaction(lastTotal)) : undefined;
    return contextHistory(compacted ?? context, this.limits);
  }

  /** Shortens the history after the model rejected it as too long: to a summary, or to half of its size. */
  async shrink(error: unknown): Promise<readonly Message[] | undefined> {
    if (!isContextOverflow(error)) return undefined;
    const { services, log } = this.#env;
    const { runId, sessionKey } = this.#run.request;
    log.warn({ err: error, runId, sessionKey }, "the conversation is too long for the model and will be summarized");
    const { isGiven } = this.#loaded;
    const context = isGiven
      ? this.#loaded.context
      : await untilAborted(services.sessions.context(sessionKey, HISTORY_MESSAGES), this.#run.signal);
    const compacted = isGiven ? undefined : await tryCompact(context, this.#compaction(), { willRetry: true });
    if (compacted) return contextHistory(compacted, this.limits);
    const chars = tokensOf(context.items.map(({ message }) => message)) * CHARS_PER_TOKEN;
    const { limits } = this;
    return contextHistory(context, { ...limits, budgetChars: Math.floor(Math.min(limits.budgetChars, chars) / 2) });
  }

  /**
   * For `/compact`. Choice: works on the messages that a model could be sent; the command itself is not one of them.
   * @returns `undefined` when there is nothing to summarize
   */
  compact(instructions: string): Promise<Context | undefined> {
    return compact(this.#loaded.context, this.#compaction(), { instructions });
  }

  #compaction(lastTotal?: number): CompactionSetup {
    const { services, log } = this.#env;
    const { signal, request, events } = this.#run;
    const { sessionKey } = request;
    const model = this.#model();
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
}

/** The model of a run, and its fallbacks. */
import { isGatewayError } from "@svc/sdk";
import type { Message, ModelEvent, ResolvedModel } from "@svc/sdk/models";
import { isContextOverflow } from "../history/compaction-plan.ts";

/** Why a model was given up. */
interface Attempt {
  readonly provider: string;
  readonly model: string;
  readonly error: string;
}

type Ask = (model: ResolvedModel, messages: readonly Message[], isFirst: boolean) => AsyncIterable<ModelEvent>;

/** Data of the lifecycle event `fallback`. Spec: protocol/events.md §3. */
export type FallbackData = Readonly<Record<string, unknown>>;

/**
 * Asks the current model. When it fails before its first piece, the next one is asked and stays for the rest of the
 * run. A model that fails later is an error, since part of its answer is out already. Models that cool down are asked
 * last.
 */
export class ModelChain {
  readonly selected: ResolvedModel;
  /** Not tried yet. */
  readonly #left: ResolvedModel[];
  readonly #ask: Ask;
  readonly #onFallback: (data: FallbackData) => void;
  readonly #coolingUntil: (model: ResolvedModel) => number | undefined;
  readonly #attempts: Attempt[] = [];
  /** The model that answers now. */
  current: ResolvedModel;

  /**
   * @param models the selected one first
   * @param coolingUntil epoch ms until which a model cools down; `undefined` when it can be asked
   */
  constructor(
    models: readonly [ResolvedModel, ...ResolvedModel[]],
    ask: Ask,
    onFallback: (data: FallbackData) => void,
    coolingUntil: (model: ResolvedModel) => number | undefined = () => undefined,
  ) {
    this.selected = models[0];
    this.current = models[0];
    this.#left = models.slice(1);
    this.#ask = ask;
    this.#onFallback = onFallback;
    this.#coolingUntil = coolingUntil;
  }

  /** Why the selected model does not answer; `undefined` while it does. */
  get fallbackReason(): string | undefined {
    return this.#attempts.at(-1)?.error;
  }

  /** Goes past models that cool down, unless all do. To be called before the first question. */
  skipCooling(): void {
    const all = [this.current, ...this.#left];
    if (!all.some((model) => this.#coolingUntil(model) === undefined)) return;
    while (this.#coolingUntil(this.current) !== undefined) {
      if (!this.#advance("it failed lately and is left alone for a while")) return;
    }
  }

  /**
   * @param isFirst handed on: the run's first question
   * @throws what the last model to be tried throws, or at once when `signal` aborted or the question is too long
   */
  async *ask(
    messages: readonly Message[],
    signal: AbortSignal,
    isFirst = false,
  ): AsyncGenerator<ModelEvent, void, undefined> {
    for (;;) {
      let spoke = false;
      try {
        for await (const event of this.#ask(this.current, messages, isFirst)) {
          spoke = true;
          yield event;
        }
        return;
      } catch (error) {
        if (spoke || signal.aborted || isContextOverflow(error)) throw error;
        if (!this.#advance(isGatewayError(error) ? error.message : "the model request failed")) throw error;
      }
    }
  }

  #advance(reason: string): boolean {
    const failed = this.current;
    const next = this.#left.find((model) => this.#coolingUntil(model) === undefined) ?? this.#left[0];
    if (!next) return false;
    this.#left.splice(this.#left.indexOf(next), 1);
    this.#attempts.push({ provider: failed.provider, model: failed.id, error: reason });
    this.current = next;
    this.#onFallback({
      phase: "fallback",
      ...this.#names(),
      reasonSummary: reason,
      attemptSummaries: this.#attempts.map((attempt) => `${attempt.provider}/${attempt.model}: ${attempt.error}`),
      attempts: [...this.#attempts],
    });
    return true;
  }

  /** Data of the event `fallback_cleared`: the selected model answers again. @param previous `provider/model` that stood in */
  cleared(previous: string): FallbackData {
    return { phase: "fallback_cleared", ...this.#names(), previousActiveModel: previous };
  }

  #names() {
    return {
      selectedProvider: this.selected.provider,
      selectedModel: this.selected.id,
      activeProvider: this.current.provider,
      activeModel: this.current.id,
    };
  }
}

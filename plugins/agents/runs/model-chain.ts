/** The model of a run, and its fallbacks. */
import { isGatewayError } from "@svc/sdk";
import type { Message, ModelEvent, ResolvedModel } from "@svc/sdk/models";
import { isContextOverflow } from "../history/compaction-plan.ts";

/** A failed attempt with one model. */
interface Attempt {
  readonly provider: string;
  readonly model: string;
  readonly error: string;
}

type Ask = (model: ResolvedModel, messages: readonly Message[], isFirst: boolean) => AsyncIterable<ModelEvent>;

/** Data of the lifecycle event `fallback`. Spec: protocol/events.md §3. */
export type FallbackData = Readonly<Record<string, unknown>>;

/**
 * Calls the current model. If it fails before its first piece, the next model takes over for the rest of the run. A later
 * failure is an error, since part of the answer has already been emitted. Models that cool down are tried last.
 */
export class ModelChain {
  readonly selected: ResolvedModel;
  /** Not tried yet. */
  readonly #left: ResolvedModel[];
  readonly #ask: Ask;
  readonly #onFallback: (data: FallbackData) => void;
  readonly #coolingUntil: (model: ResolvedModel) => number | undefined;
  readonly #attempts: Attempt[] = [];
  /** The current model. */
  current: ResolvedModel;

  /**
   * @param models the selected one first
   * @param coolingUntil epoch ms until which a model cools down; `undefined` when it is available
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

  /** Skips models that cool down, unless all do. To be called before the first request. */
  skipCooling(): void {
    const all = [this.current, ...this.#left];
    if (!all.some((model) => this.#coolingUntil(model) === undefined)) return;
    while (this.#coolingUntil(this.current) !== undefined) {
      if (!this.#advance("it failed recently and is cooling down")) return;
    }
  }

  /**
   * @param isFirst passed on: whether this is the run's first request
   * @throws the error of the last model tried; without trying others when `signal` aborted or the request is too long
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

  /** Data of the event `fallback_cleared`: the selected model answers again. @param previous `provider/model` of the fallback */
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

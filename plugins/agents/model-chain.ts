/** The model of a run and those to use in its place when it cannot be used. */
import { isGatewayError } from "@svc/sdk";
import type { Message, ModelEvent, ResolvedModel } from "@svc/sdk/services";

/** Why a model was given up. */
interface Attempt {
  readonly provider: string;
  readonly model: string;
  readonly error: string;
}

type Ask = (model: ResolvedModel, messages: readonly Message[]) => AsyncIterable<ModelEvent>;

/** Data of the lifecycle event `fallback`. Spec: protocol/events.md §3. */
export type FallbackData = Readonly<Record<string, unknown>>;

/**
 * Asks the current model. When it fails before its first piece, the next one is asked and stays for the rest of the
 * run; a model that breaks off in the middle is an error, since its words are out already.
 */
export class ModelChain {
  readonly #models: readonly ResolvedModel[];
  readonly #ask: Ask;
  readonly #onFallback: (data: FallbackData) => void;
  readonly #attempts: Attempt[] = [];
  #index = 0;

  constructor(
    models: readonly [ResolvedModel, ...ResolvedModel[]],
    ask: Ask,
    onFallback: (data: FallbackData) => void,
  ) {
    this.current = models[0];
    this.#models = models;
    this.#ask = ask;
    this.#onFallback = onFallback;
  }

  /** The model that answers now. */
  current: ResolvedModel;

  /** @throws what the last model to be tried throws, or at once when `signal` aborted */
  async *ask(messages: readonly Message[], signal: AbortSignal): AsyncGenerator<ModelEvent, void, undefined> {
    for (;;) {
      let spoke = false;
      try {
        for await (const event of this.#ask(this.current, messages)) {
          spoke = true;
          yield event;
        }
        return;
      } catch (error) {
        if (spoke || signal.aborted || !this.#advance(error)) throw error;
      }
    }
  }

  #advance(error: unknown): boolean {
    const failed = this.current;
    const next = this.#models[this.#index + 1];
    if (!next) return false;
    this.#index += 1;
    const reason = isGatewayError(error) ? error.message : "the model request failed";
    this.#attempts.push({ provider: failed.provider, model: failed.id, error: reason });
    this.current = next;
    const [selected] = this.#models;
    this.#onFallback({
      phase: "fallback",
      selectedProvider: selected?.provider,
      selectedModel: selected?.id,
      activeProvider: next.provider,
      activeModel: next.id,
      reasonSummary: reason,
      attemptSummaries: this.#attempts.map((attempt) => `${attempt.provider}/${attempt.model}: ${attempt.error}`),
      attempts: [...this.#attempts],
    });
    return true;
  }
}

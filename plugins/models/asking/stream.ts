/**
 * Enforces the contract of providers: a stream yields pieces, then exactly one `finish`, is never silent for long, and
 * ends when the signal aborts.
 */
import { AnswerSize } from "@svc/kit/providers";
import type { AnySignal } from "@svc/kit/time";
import { type Clock, GatewayError, unavailable } from "@svc/sdk";
import type { ModelEvent, ProviderFailure } from "@svc/sdk/models";

/** Wraps each read from the source; may attribute an error to a plugin, and throws the error again. */
export type Charge = <R>(work: () => Promise<R>) => Promise<R>;

export interface StreamOptions {
  /** Name of the account, for error messages. */
  readonly name: string;
  /** Its signal was passed to the provider; it aborts on silence, too. */
  readonly ending: AnySignal;
  readonly charge: Charge;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Maximum milliseconds between two events, and before the first; 0: no limit. */
  readonly idleMs: number;
  readonly maxAnswerChars?: number | undefined;
}

/**
 * Passes on the events of `source` up to its `finish`, without empty texts. Choice: later events are not read.
 * An abort ends the stream at once, even if the provider ignores its signal.
 * @throws GatewayError `UNAVAILABLE` when the source ends without `finish`, is silent for too long or the answer is too long;
 *   the signal's reason on abort; errors of the source
 */
export async function* untilFinish(
  source: AsyncIterable<ModelEvent>,
  { name, ending, charge, clock, idleMs, ...limit }: StreamOptions,
): AsyncGenerator<ModelEvent, void, void> {
  const { signal } = ending;
  signal.throwIfAborted();
  const size = new AnswerSize(`model provider "${name}"`, limit);
  const iterator = source[Symbol.asyncIterator]();
  let cancel: ((reason: unknown) => void) | undefined;
  const onAbort = () => cancel?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  // A new promise per read: a race against one promise for the whole stream would accumulate its reactions.
  const pull = async () => {
    const awake = idleMs > 0 ? clock.setTimeout(() => ending.abort(silence(name, idleMs)), idleMs) : undefined;
    try {
      return await new Promise<IteratorResult<ModelEvent>>((resolve, reject) => {
        cancel = reject;
        charge(() => iterator.next()).then(resolve, reject);
      });
    } finally {
      awake?.();
    }
  };
  try {
    for (;;) {
      signal.throwIfAborted(); // the signal may have aborted between two pieces
      const step = await pull();
      signal.throwIfAborted();
      if (step.done) {
        const details: ProviderFailure = { kind: "server_error" };
        unavailable(`the model provider "${name}" ended the stream without finishing its answer`, { details });
      }
      if (step.value.type === "text" && step.value.delta === "") continue; // the server is at work
      size.event(step.value);
      yield step.value;
      if (step.value.type === "finish") return;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    void release(iterator);
  }
}

function silence(name: string, idleMs: number): GatewayError {
  const message =
    `the model provider "${name}" sent nothing for ${Math.round(idleMs / 1_000)} s; ` +
    "if its model needs longer, increase models.idleTimeoutSeconds";
  return new GatewayError("UNAVAILABLE", message, { details: { kind: "timeout" } satisfies ProviderFailure });
}

/** Lets the provider clean up. Not awaited, since it may hang. */
async function release(iterator: AsyncIterator<ModelEvent>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The answer has ended; errors during cleanup do not matter.
  }
}

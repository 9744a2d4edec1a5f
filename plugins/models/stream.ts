/**
 * Enforces the contract of providers: a stream yields pieces, then exactly one `finish`, and ends when the signal
 * aborts.
 */
import { AnswerSize } from "@svc/kit/providers";
import { unavailable } from "@svc/sdk";
import type { ModelEvent, ProviderFailure } from "@svc/sdk/models";

/** Wraps each read from the source; may attribute an error to a plugin, and throws the error again. */
export type Charge = <R>(work: () => Promise<R>) => Promise<R>;

/**
 * Passes on the events of `source` up to its `finish`. Choice: later events are not read.
 * An abort ends the stream at once, even if the provider ignores its signal.
 * @throws GatewayError `UNAVAILABLE` when the source ends without `finish` or the answer is too long; the signal's reason on abort;
 *   errors of the source
 */
export async function* untilFinish(
  source: AsyncIterable<ModelEvent>,
  {
    name,
    signal,
    charge,
    ...limit
  }: {
    readonly name: string;
    readonly signal: AbortSignal;
    readonly charge: Charge;
    readonly maxAnswerChars?: number | undefined;
  },
): AsyncGenerator<ModelEvent, void, void> {
  signal.throwIfAborted();
  const size = new AnswerSize(`model provider "${name}"`, limit);
  const iterator = source[Symbol.asyncIterator]();
  let cancel: ((reason: unknown) => void) | undefined;
  const onAbort = () => cancel?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  // A new promise per read: a race against one promise for the whole stream would accumulate its reactions.
  const pull = () =>
    new Promise<IteratorResult<ModelEvent>>((resolve, reject) => {
      cancel = reject;
      charge(() => iterator.next()).then(resolve, reject);
    });
  try {
    for (;;) {
      signal.throwIfAborted(); // the signal may have aborted between two pieces
      const step = await pull();
      signal.throwIfAborted();
      if (step.done) {
        const details: ProviderFailure = { kind: "server_error" };
        unavailable(`the model provider "${name}" ended the stream without finishing its answer`, { details });
      }
      size.event(step.value);
      yield step.value;
      if (step.value.type === "finish") return;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    void release(iterator);
  }
}

/** Lets the provider clean up. Not awaited, since it may hang. */
async function release(iterator: AsyncIterator<ModelEvent>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The answer has ended; errors during cleanup do not matter.
  }
}

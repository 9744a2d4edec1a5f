/** Holds a provider to its promise: pieces, then exactly one `finish`, and an end at the signal. */
import { AnswerSize } from "@svc/kit/providers";
import { unavailable } from "@svc/sdk";
import type { ModelEvent, ProviderFailure } from "@svc/sdk/models";

/** Runs each pull; may charge what it throws to somebody, and rethrows. */
export type Charge = <R>(work: () => Promise<R>) => Promise<R>;

/**
 * Passes on what `source` yields up to and with its `finish`. Choice: pieces after `finish` are not asked for.
 * An abort ends it at once, even when the provider does not listen to its signal.
 * @throws GatewayError `UNAVAILABLE` when the source ends without `finish` or the answer is too long; the signal's reason on abort; else what
 * the source throws.
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
  // One promise a pull: racing against a promise that lives as long as the stream would pile up its reactions.
  const pull = () =>
    new Promise<IteratorResult<ModelEvent>>((resolve, reject) => {
      cancel = reject;
      charge(() => iterator.next()).then(resolve, reject);
    });
  try {
    for (;;) {
      signal.throwIfAborted(); // between two pieces nobody listened
      const step = await pull();
      signal.throwIfAborted();
      if (step.done) {
        const details: ProviderFailure = { kind: "server_error" };
        unavailable(`the model provider "${name}" broke off: it ended without finishing its answer`, { details });
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

/** Lets the provider clean up. Not waited for: one that hangs in a pull would hang here too. */
async function release(iterator: AsyncIterator<ModelEvent>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The answer is over; what its provider throws while tidying up changes nothing for anybody.
  }
}

/** Submits incoming messages, and repeats other work of an account, until it succeeds. */
import { type Clock, ERRORS, isGatewayError, type Logger, messageOf, pause, untilAborted } from "@svc/sdk";
import type { ChannelRun, InboundMessage, Receipt } from "@svc/sdk/channels";

/** Choice: milliseconds of the first and the longest pause; each pause is twice as long as the one before. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

export interface RepeatSources {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Pick<Logger, "info">;
  readonly signal: AbortSignal;
}

/**
 * Repeats work until it succeeds; waits at least `retryAfterMs` of the error.
 * @throws GatewayError that a retry would not change, e.g. `INVALID_REQUEST`, `NOT_FOUND`, `NOT_LINKED`; the reason of the
 *   signal
 */
export async function repeated<T>(work: () => Promise<T>, { clock, log, signal }: RepeatSources): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      return await untilAborted(work(), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isGatewayError(error) && error.code !== "INTERNAL" && !ERRORS[error.code].retry) throw error;
      const inMs = Math.max(pauseMs, isGatewayError(error) ? (error.retryAfterMs ?? 0) : 0);
      log.info({ reason: messageOf(error), inMs }, "work for a chat account did not succeed; retrying");
      await pause(inMs, clock, signal);
    }
  }
}

/**
 * Submits an incoming message until the gateway answers. Afterwards the channel may acknowledge it to the network.
 * @throws the reason of the signal when the account stops
 */
export function submitted(
  { receive, signal }: Pick<ChannelRun, "receive" | "signal">,
  message: InboundMessage,
  sources: Omit<RepeatSources, "signal">,
): Promise<Receipt> {
  return repeated(() => receive(message), { ...sources, signal });
}

/** Tries the accounts of a provider in turn until one answers. */
import { type Clock, type GatewayError, isGatewayError, pause } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/models";
import type { Cooldowns } from "./cooldown.ts";

export interface FailoverOptions<A, E> {
  readonly cooldowns: Cooldowns;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly signal: AbortSignal;
  /** Makes one attempt and yields its pieces. */
  readonly ask: (account: A) => AsyncIterable<E>;
  /** Called with the answering account at its first piece. */
  readonly onAnswer?: ((account: A) => void) | undefined;
}

/**
 * Number of attempts with the only account of a provider. Milliseconds before the second attempt; each further wait
 * doubles.
 */
const LONE_ATTEMPTS = 3;
const LONE_WAIT_MS = 500;

/**
 * Maximum retry delay for the only account of a provider, in milliseconds. Choice: a longer delay is an error at once.
 */
const LONE_MAX_WAIT_MS = 5_000;

/**
 * Passes on the pieces of the first account that answers. If an account fails before its first piece, the account cools
 * down and the next account is tried; a later failure ends the answer. A rejected request is not repeated.
 *
 * Choice: the only account of a provider gets two retries for temporary errors, as in client libraries.
 * @throws the error of the last account; the signal's reason on abort
 */
export async function* askInTurn<A extends { readonly name: string }, E>(
  accounts: readonly A[],
  options: FailoverOptions<A, E>,
): AsyncGenerator<E, void, void> {
  const { cooldowns, signal } = options;
  const turns = cooldowns.inOrder(accounts);
  for (let attempt = 1; ; attempt++) {
    const account = turns.length === 1 ? turns[0] : turns[attempt - 1];
    if (!account) return; // the list is empty
    let spoke = false;
    const askedAt = cooldowns.now();
    try {
      for await (const event of options.ask(account)) {
        if (!spoke) {
          spoke = true;
          cooldowns.succeeded(account.name);
          options.onAnswer?.(account);
        }
        yield event;
      }
      return;
    } catch (error) {
      const failure = failureOf(error);
      if (spoke || signal.aborted || !failure || failure.details.kind === "request") throw error;
      const waitMs = turns.length === 1 ? loneWait(failure, attempt) : undefined;
      if (waitMs === undefined) {
        cooldowns.failed(account.name, failure.details, { askedAt, retryAfterMs: failure.retryAfterMs });
      }
      if (waitMs !== undefined) {
        await pause(waitMs, options.clock, options.signal);
        options.signal.throwIfAborted();
      } else if (attempt >= turns.length) throw error;
    }
  }
}

type Failure = GatewayError & { readonly details: ProviderFailure };

/** The failure of a provider; `undefined` for any other error. */
function failureOf(error: unknown): Failure | undefined {
  if (!isGatewayError(error) || error.code !== "UNAVAILABLE") return undefined;
  const { details } = error;
  const known = typeof details === "object" && details !== null && "kind" in details;
  return known ? (error as Failure) : undefined; // `kind` makes it a ProviderFailure, by the contract of ModelProvider
}

/** Milliseconds until the only account of a provider is retried; `undefined`: no retry. */
function loneWait({ details, retryAfterMs }: Failure, attempt: number): number | undefined {
  if (attempt >= LONE_ATTEMPTS) return undefined;
  const passes = details.kind === "network" || details.kind === "server_error";
  const waitMs = retryAfterMs ?? (passes ? LONE_WAIT_MS * 2 ** (attempt - 1) : undefined);
  const isBusy = passes || details.kind === "rate_limit";
  return isBusy && waitMs !== undefined && waitMs <= LONE_MAX_WAIT_MS ? waitMs : undefined;
}

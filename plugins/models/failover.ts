/** Asks the accounts of a provider in turn until one speaks. */
import { type Clock, type GatewayError, isGatewayError, pause } from "@svc/sdk";
import type { ModelEvent, ProviderFailure } from "@svc/sdk/models";
import type { Cooldowns } from "./cooldown.ts";

export interface FailoverOptions<A> {
  readonly cooldowns: Cooldowns;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly signal: AbortSignal;
  /** One attempt: pieces, then a `finish`. */
  readonly ask: (account: A) => AsyncIterable<ModelEvent>;
  /** Told which account answers, at its first piece. */
  readonly onAnswer?: ((account: A) => void) | undefined;
}

/** Attempts with an account that is the only one, and milliseconds before the second; each further wait is twice as long. */
const LONE_ATTEMPTS = 3;
const LONE_WAIT_MS = 500;

/** Longest wait that a server may ask of a lone account. Choice: a longer one is told to the caller at once. */
const LONE_MAX_WAIT_MS = 5_000;

/**
 * Passes on the pieces of the first account that speaks. Before its first piece a failed account cools down and the
 * next one is asked; after it, the words are out, and the failure is the answer's end. A question that is refused for
 * itself is not asked again.
 *
 * Choice: an account that has no other beside it gets two more tries when a server stumbles, as client libraries do.
 * @throws what the last account failed with; the signal's reason on abort
 */
export async function* askInTurn<A extends { readonly name: string }>(
  accounts: readonly A[],
  options: FailoverOptions<A>,
): AsyncGenerator<ModelEvent, void, void> {
  const { cooldowns, signal } = options;
  const turns = cooldowns.inOrder(accounts);
  for (let attempt = 1; ; attempt++) {
    const account = turns.length === 1 ? turns[0] : turns[attempt - 1];
    if (!account) return; // an empty list; every other way out is below
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

/** What a provider refused with; `undefined` for anything else that was thrown. */
function failureOf(error: unknown): Failure | undefined {
  if (!isGatewayError(error) || error.code !== "UNAVAILABLE") return undefined;
  const { details } = error;
  const known = typeof details === "object" && details !== null && "kind" in details;
  return known ? (error as Failure) : undefined; // `kind` makes it a ProviderFailure, by the contract of ModelProvider
}

/** Milliseconds until a lone account is asked again; `undefined`: it is not. */
function loneWait({ details, retryAfterMs }: Failure, attempt: number): number | undefined {
  if (attempt >= LONE_ATTEMPTS) return undefined;
  const passes = details.kind === "network" || details.kind === "server_error";
  const waitMs = retryAfterMs ?? (passes ? LONE_WAIT_MS * 2 ** (attempt - 1) : undefined);
  const isBusy = passes || details.kind === "rate_limit";
  return isBusy && waitMs !== undefined && waitMs <= LONE_MAX_WAIT_MS ? waitMs : undefined;
}

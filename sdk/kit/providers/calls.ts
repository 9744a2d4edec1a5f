/** For plugins that call model servers: requests whose errors become failures of the account. */
import type { Clock } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";
import type { ProviderPhase } from "./failures.ts";
import { type FactsOf, toFailure } from "./sentences.ts";

export interface CallsOptions {
  readonly clock: Pick<Clock, "now">;
  readonly factsOf: FactsOf;
}

export interface Call {
  readonly account: ProviderAccount;
  readonly signal: AbortSignal;
}

/** A request whose answer is streamed. */
export interface StreamedCall<Event> extends Call {
  /** Id of the model, for error messages. */
  readonly model: string;
  send(): Promise<Response>;
  /** Reads the answer; what the server reports in it is thrown as a `reportedError`. */
  read(response: Response): AsyncIterable<Event>;
}

/** Both throw the signal's reason on abort, and a GatewayError `UNAVAILABLE` for any error of the server or the network. */
export interface Calls {
  stream<Event>(call: StreamedCall<Event>): AsyncGenerator<Event, void, void>;
  /** For requests other than answers. */
  run<T>(call: Call, work: () => Promise<T>): Promise<T>;
}

export function createCalls({ clock, factsOf }: CallsOptions): Calls {
  return {
    async *stream({ account, signal, model, send, read }) {
      signal.throwIfAborted();
      let phase: ProviderPhase = "asking";
      try {
        const response = await send();
        phase = "answering";
        yield* read(response);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, model: { id: model }, phase, now: clock.now() }, factsOf);
      }
      signal.throwIfAborted();
    },

    async run({ account, signal }, work) {
      signal.throwIfAborted();
      try {
        return await work();
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, phase: "asking", now: clock.now() }, factsOf);
      }
    },
  };
}

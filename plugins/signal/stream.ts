/** The event stream of the daemon, from its start to its end. */
import { AnySignal } from "@svc/kit/time";
import { GatewayError, isGatewayError, lazy, unavailable } from "@svc/sdk";
import type { EventSourceMessage } from "eventsource-parser";
import type { Settings } from "./config.ts";
import { expectOk, fetched, type Request, unlinked } from "./rpc.ts";

/** Maximum characters of one event: a text, and facts about its files. */
const MAX_EVENT_CHARS = 4_000_000;

const library = lazy(() => import("eventsource-parser"));

export interface StreamOptions extends Request {
  readonly settings: Pick<Settings, "account" | "silentMs">;
  /** The newest event that was stored; newer daemons repeat those after it. */
  readonly lastEventId: string | undefined;
  readonly onOpen: () => Promise<void>;
  /** Bytes have arrived. */
  readonly onAlive: () => void;
}

/**
 * Yields events until the stream ends. Nothing more is read while the reader works on an event.
 * @throws GatewayError `UNAVAILABLE`: the connection ended, or was silent too long; `NOT_LINKED`; the reason of the signal
 */
export async function* eventsOf(options: StreamOptions): AsyncGenerator<EventSourceMessage, never, void> {
  const { url, settings, lastEventId, clock, onOpen, onAlive } = options;
  const { createParser } = await library();
  const ending = new AnySignal(options.signal);
  const { signal } = ending;
  const silent = () => ending.abort(new GatewayError("UNAVAILABLE", "the event stream of signal-cli is silent"));
  let cancel = clock.setTimeout(silent, settings.silentMs);
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void ready.push(event), maxBufferSize: MAX_EVENT_CHARS });
  const decoder = new TextDecoder();
  const headers = {
    accept: "text/event-stream",
    ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
  };
  try {
    const address = `${url}/api/v1/events?account=${encodeURIComponent(settings.account)}`;
    const response = await fetched(address, { headers, signal });
    if (response.status === 400) throw unlinked();
    expectOk(response, clock);
    await onOpen();
    for await (const bytes of response.body ?? []) {
      cancel();
      onAlive();
      parser.feed(decoder.decode(bytes, { stream: true }));
      yield* ready.splice(0);
      cancel = clock.setTimeout(silent, settings.silentMs);
    }
  } catch (error) {
    signal.throwIfAborted(); // the abort has caused the error
    if (isGatewayError(error)) throw error;
  } finally {
    cancel();
    ending.abort();
  }
  return unavailable("the event stream of signal-cli ended");
}

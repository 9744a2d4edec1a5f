/** `fetch` for a server over HTTP: limits the size of messages and the rate at which streams are opened. */
import { type Clock, pause } from "@svc/sdk";

/** Choice: maximum bytes of one message, a response or an event of a stream. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** Minimum milliseconds between opening two streams, whatever the server requests. */
const STREAM_PAUSE_MS = 1_000;

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface BoundedFetch {
  readonly fetch: Fetch;
  /** Refuses further streams: the library tries to reopen streams even after the session has ended. */
  close(): void;
}

export function createBoundedFetch(
  clock: Pick<Clock, "setTimeout" | "elapsed">,
  { fetch: real = fetch, maxBytes = MAX_MESSAGE_BYTES }: { readonly fetch?: Fetch; readonly maxBytes?: number } = {},
): BoundedFetch {
  const never = new AbortController().signal;
  let isClosed = false;
  let openedAt = -STREAM_PAUSE_MS;
  return {
    close: () => void (isClosed = true),
    async fetch(url, init) {
      if ((init?.method ?? "GET") === "GET") {
        const wait = openedAt + STREAM_PAUSE_MS - clock.elapsed();
        if (wait > 0 && !isClosed) await pause(wait, clock, init?.signal ?? never);
        // 405 means that the server has no stream; the library does not retry after it.
        if (isClosed) return new Response(null, { status: 405 });
        openedAt = clock.elapsed();
      }
      return bounded(await real(url, init), maxBytes);
    },
  };
}

function bounded(response: Response, maxBytes: number): Response {
  if (!response.body) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counter(maxBytes, isStream)), { status, statusText, headers });
}

/** @param byEvent true: the limit applies to each event, which ends with a blank line */
function counter(maxBytes: number, byEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isLineEmpty = true;
  const count = (byte: number) => {
    bytes += 1;
    if (byte === 13) return;
    if (byte === 10 && isLineEmpty) bytes = 0;
    isLineEmpty = byte === 10;
  };
  return new TransformStream({
    transform(chunk, controller) {
      if (byEvent) for (const byte of chunk) count(byte);
      else bytes += chunk.length;
      if (bytes > maxBytes) controller.error(new Error(`a message has more than ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

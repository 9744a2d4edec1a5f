/**
 * Server-sent events of a model server, read in linear time and bounded memory. The parsers of the client libraries
 * rescan a whole incomplete event for each chunk that arrives.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { refuseAnswer } from "./failures.ts";
import { together } from "./together.ts";

/** Choice: maximum characters of one event; servers send a few hundred. */
export const MAX_EVENT_CHARS = 1_000_000;
/** Choice: characters processed before yielding to other work of the process; about 1 ms. */
const TURN_CHARS = 16_384;
/** Choice: bytes of an error response that are read; a few hundred characters are quoted. */
const MAX_ERROR_BYTES = 65_536;

/** One event. Spec: WHATWG HTML, server-sent events. */
export interface ServerEvent {
  /** Absent: the event has no name. */
  readonly name?: string;
  readonly data: string;
}

/**
 * Yields what `read` makes of the events of `response`, one list for those that arrived together; closes the connection if
 * the reader stops early.
 * @param source name of the account, for error messages
 * @param read results of earlier events are yielded before its error is thrown
 * @throws GatewayError `UNAVAILABLE` for an event of more than 1,000,000 characters; errors of the connection and of `read`
 */
export async function* serverEvents<Piece>(
  { body }: Pick<Response, "body">,
  source: string,
  read: (event: ServerEvent) => readonly Piece[],
): AsyncGenerator<readonly Piece[], void, void> {
  const event = new UnfinishedEvent(source);
  let sinceTurn = 0;
  let whole: ServerEvent[] = [];
  for await (const lines of linesOf(body, event)) {
    for (const line of lines) {
      sinceTurn += line.length + 1;
      if (sinceTurn >= TURN_CHARS) {
        yield* together(whole, read);
        whole = [];
        sinceTurn = 0;
        await nextTurn();
      }
      if (line !== "") event.add(line);
      else whole.push(...event.take());
    }
    yield* together(whole, read);
    whole = [];
  }
  yield* together(event.take(), read);
}

/** The lines of a body, one list for those that arrived together. `event` counts the characters of a growing line. */
async function* linesOf(body: Response["body"], event: UnfinishedEvent): AsyncGenerator<string[], void, void> {
  const decoder = new TextDecoder();
  let held = "";
  let endedInReturn = false;
  for await (const bytes of body ?? []) {
    let text = decoder.decode(bytes, { stream: true });
    if (text === "") continue;
    if (endedInReturn && text.startsWith("\n")) text = text.slice(1);
    endedInReturn = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n|\n|\r/u);
    held += first;
    event.check(held.length);
    const lines = [held, ...others];
    held = lines.pop() ?? "";
    yield lines;
  }
  if (held !== "") yield [held];
}

class UnfinishedEvent {
  readonly #source: string;
  #name: string | undefined;
  #data: string[] = [];
  #chars = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** @param more characters that belong to the event but were not added yet */
  check(more: number): void {
    if (this.#chars + more <= MAX_EVENT_CHARS) return;
    refuseAnswer(
      "server_error",
      `${this.#source} sent more than ${MAX_EVENT_CHARS} characters in one piece; is its baseUrl that of a model server?`,
    );
  }

  add(line: string): void {
    const [, field, value = ""] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (field !== "event" && field !== "data") return; // a comment, sent to keep the connection alive
    this.check(line.length + 1);
    this.#chars += line.length + 1;
    if (field === "event") this.#name = value;
    else this.#data.push(value);
  }

  /** Returns the event and starts the next one; empty: it has no data. */
  take(): readonly ServerEvent[] {
    const [name, data] = [this.#name, this.#data];
    this.#name = undefined;
    this.#data = [];
    this.#chars = 0;
    return data.length === 0 ? [] : [{ ...(name === undefined ? {} : { name }), data: data.join("\n") }];
  }
}

/** `fetch` for client libraries, which read complete error responses: truncates them to 64 KB. */
export function boundedErrors(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.ok) return response;
    const { status, statusText, headers } = response;
    return new Response(await beginningOf(response.body), { status, statusText, headers });
  };
}

async function beginningOf(body: Response["body"]): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let left = MAX_ERROR_BYTES;
  for await (const bytes of body ?? []) {
    parts.push(bytes.subarray(0, left));
    left -= bytes.length;
    if (left <= 0) break;
  }
  return Buffer.concat(parts);
}

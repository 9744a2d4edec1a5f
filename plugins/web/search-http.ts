/** One HTTP request to a search engine. The operator chooses the engine, so it may have any address. */
import { readBody } from "@svc/kit/body";
import { type ErrorCode, GatewayError, unavailable } from "@svc/sdk";

export interface SearchRequest {
  /** Name in error messages. */
  readonly engine: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Next step by response status. */
  readonly advice: Readonly<Record<number, string>>;
  readonly signal: AbortSignal;
}

export type Fetch = typeof globalThis.fetch;

const MAX_BYTES = 2 * 1024 * 1024;

/** @throws GatewayError `UNAVAILABLE` with a message for people, without the request's content; the signal's reason */
export async function askJson(fetch: Fetch, request: SearchRequest): Promise<unknown> {
  const { engine, url, headers = {}, advice, signal } = request;
  try {
    const answer = await fetch(url, {
      headers: { accept: "application/json", ...headers },
      redirect: "manual",
      signal,
    });
    if (answer.status !== 200) return await refused(answer, engine, advice);
    const body = await readBody(answer, MAX_BYTES, () =>
      unavailable(`the response of ${engine} is larger than ${MAX_BYTES} bytes`),
    );
    return JSON.parse(body.toString()) as unknown;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof GatewayError) throw error;
    if (error instanceof SyntaxError) return unavailable(`${engine} did not return JSON`, { cause: error });
    return unavailable(`${engine} cannot be reached (${reasonOf(error)})`);
  }
}

async function refused(answer: Response, engine: string, advice: SearchRequest["advice"]): Promise<never> {
  await answer.body?.cancel();
  const { status } = answer;
  const code: ErrorCode = "UNAVAILABLE";
  const wait = Number(answer.headers.get("retry-after") ?? Number.NaN) * 1_000;
  const retry = status === 429 && wait > 0 ? { retryAfterMs: wait } : {};
  const moved = status >= 300 && status < 400 ? "it has moved: update its address" : undefined;
  const words = advice[status] ?? moved;
  throw new GatewayError(code, `${engine} returned status ${status}${words ? `; ${words}` : ""}`, retry);
}

/** The error code if there is one: messages may quote a header, and thereby a key. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : "no response";
}

/** Client of an embeddings server: sends texts, returns vectors. No other file here uses the network. */
import { readBody } from "@svc/kit/body";
import { AnySignal } from "@svc/kit/time";
import type { Endpoint } from "./endpoint.ts";
import { unit } from "./vectors.ts";

/** Choice: most bytes of one response, ten times a hundred vectors of the largest models. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Choice: most dimensions of a vector. */
const MAX_DIMENSIONS = 16_384;
/** Characters quoted of the server's error message. */
const QUOTED_CHARS = 200;
/** Choice: milliseconds before the second try, doubled for each further one; the server may request up to 10 s. */
const RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/** The server returned no vectors. The message is for people and contains no secret. */
export class EndpointFailure extends Error {
  override readonly name = "EndpointFailure";
  /** HTTP status; `undefined`: no response, or an unusable one. */
  readonly status: number | undefined;
  /** Wait requested by the server, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { status?: number; retryAfterMs?: number | undefined } = {}) {
    super(message);
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The server refuses these texts, not the caller. */
  get isAboutTexts(): boolean {
    return this.status !== undefined && [400, 413, 422].includes(this.status);
  }

  /** A retry may help. */
  get isPassing(): boolean {
    return this.status === undefined || this.status === 429 || this.status >= 500;
  }
}

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Milliseconds for one try. */
  readonly timeoutMs: number;
  /** Default 1. */
  readonly tries?: number;
}

/** @returns a vector of length 1 for each text, all of one dimension. @throws EndpointFailure; the signal's reason */
export type Embed = (endpoint: Endpoint, texts: readonly string[], options: AskOptions) => Promise<Float32Array[]>;

export interface EmbeddingsParts {
  readonly fetch?: typeof globalThis.fetch;
  /** Resolves after milliseconds, or at the signal. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createEmbed({ fetch = globalThis.fetch, pause = realPause }: EmbeddingsParts = {}): Embed {
  async function once(endpoint: Endpoint, texts: readonly string[], { signal, timeoutMs }: AskOptions) {
    const late = AbortSignal.timeout(timeoutMs);
    const either = new AnySignal(signal, late);
    try {
      const answer = await fetch(endpoint.url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", ...endpoint.headers },
        body: JSON.stringify({ model: endpoint.model, input: texts }),
        redirect: "manual", // the key is sent to the configured address only
        signal: either.signal,
      });
      const bytes = await readBody(answer, MAX_ANSWER_BYTES, () => {
        throw new EndpointFailure("the response of the embeddings server is too large");
      });
      const body = bytes.toString();
      if (answer.status !== 200) throw refusalOf(answer, body, endpoint);
      return vectorsOf(body, texts.length);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EndpointFailure) throw thrown;
      if (late.aborted)
        throw new EndpointFailure(`the embeddings server did not respond within ${timeoutMs / 1_000} s`);
      throw new EndpointFailure(`the embeddings server cannot be reached (${codeOf(thrown)})`);
    } finally {
      either.release();
    }
  }

  return async (endpoint, texts, options) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(endpoint, texts, options);
      } catch (thrown) {
        const isLast = attempt >= (options.tries ?? 1);
        if (isLast || !(thrown instanceof EndpointFailure) || !thrown.isPassing) throw thrown;
        const wait = Math.max(RETRY_MS * 2 ** (attempt - 1), thrown.retryAfterMs ?? 0);
        await pause(Math.min(wait, MAX_RETRY_MS), options.signal);
        options.signal.throwIfAborted();
      }
    }
  };
}

function realPause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}

const ADVICE: Readonly<Record<number, string>> = {
  401: "check memorySearch.remote.apiKey",
  403: "check memorySearch.remote.apiKey",
  404: "check memorySearch.remote.baseUrl and memorySearch.model",
  429: "too many requests, or the account has no credit left",
};

function refusalOf({ status, headers }: Response, body: string, endpoint: Endpoint): EndpointFailure {
  const isElsewhere = status >= 300 && status < 400;
  const advice = isElsewhere ? "redirects are not followed: correct memorySearch.remote.baseUrl" : ADVICE[status];
  const said = messageOf(body, endpoint);
  const sentence = [`the embeddings server answered ${status}`, advice].filter(Boolean).join("; ");
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return new EndpointFailure(said === "" ? sentence : `${sentence}. Its message: ${said}`, {
    status,
    retryAfterMs: seconds > 0 ? seconds * 1_000 : undefined,
  });
}

/** The message in the body of an error, without values that were sent as headers. */
function messageOf(body: string, { headers }: Endpoint): string {
  const value = parsed(body);
  const error = isRecord(value) ? value["error"] : undefined;
  const message = isRecord(error) ? error["message"] : error;
  if (typeof message !== "string") return "";
  const hidden = Object.values(headers).flatMap((header) => [header, header.replace(/^Bearer /, "")]);
  const clean = hidden.filter(({ length }) => length >= 4).reduce((so, one) => so.replaceAll(one, "***"), message);
  return clean.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").slice(0, QUOTED_CHARS);
}

function vectorsOf(body: string, count: number): Float32Array[] {
  const value = parsed(body);
  const data: unknown = isRecord(value) ? value["data"] : undefined;
  if (!Array.isArray(data)) throw new EndpointFailure("the embeddings server returned no vectors");
  const found = new Map<number, Float32Array>();
  for (const [at, item] of (data as readonly unknown[]).entries()) {
    const { index = at, embedding } = isRecord(item) ? item : {};
    const vector = isVector(embedding) ? unit(embedding) : undefined;
    if (vector && typeof index === "number") found.set(index, vector);
  }
  const vectors = Array.from({ length: count }, (_, at) => found.get(at));
  const whole = vectors.filter((vector) => vector !== undefined);
  const isSame = whole.every(({ length }) => length === whole[0]?.length);
  if (whole.length < count || data.length !== count || !isSame)
    throw new EndpointFailure(
      `the embeddings server did not return ${count} vectors of equal length for ${count} texts`,
    );
  return whole;
}

function isVector(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_DIMENSIONS) return false;
  return value.every((one) => typeof one === "number");
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** The error code instead of the message, which may quote an address with a password, or a header. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : "no response";
}

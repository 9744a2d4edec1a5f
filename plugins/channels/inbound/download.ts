/** Downloads a file of a message, with limits on size, time and redirects. */
import { causeOf, readBody } from "@svc/kit/body";
import { AnySignal, megabytes } from "@svc/kit/time";
import { invalidRequest, isGatewayError, unavailable } from "@svc/sdk";
import type { MediaSource } from "@svc/sdk/channels";

/** Choice: milliseconds for one file. */
export const DOWNLOAD_MS = 60_000;
const MAX_REDIRECTS = 5;
const SERVER_ERRORS = 500;

/** A downloaded file. */
export interface Downloaded {
  readonly bytes: Uint8Array;
  /** Declared by the server; lower case, without parameters. */
  readonly mimeType: string | undefined;
}

/**
 * Errors do not contain the URL, because it may contain a token.
 * @throws GatewayError `INVALID_REQUEST`: too large, gone or not permitted; `UNAVAILABLE`: a retry may succeed
 */
export async function download(
  source: MediaSource,
  maxBytes: number,
  signal: AbortSignal,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): Promise<Downloaded> {
  const inTime = new AnySignal(signal);
  const timer = setTimeout(() => inTime.abort(), DOWNLOAD_MS);
  try {
    return await followed(source, maxBytes, inTime.signal, fetch);
  } finally {
    clearTimeout(timer);
    inTime.release();
  }
}

async function followed(
  { url, headers = {} }: MediaSource,
  maxBytes: number,
  signal: AbortSignal,
  fetch: typeof globalThis.fetch,
): Promise<Downloaded> {
  let target = new URL(url);
  const { origin } = target;
  for (let redirects = 0; ; redirects++) {
    if (!/^https?:$/.test(target.protocol)) invalidRequest("the network named an address that is not http or https");
    const own = target.origin === origin ? { headers } : {};
    const answer = await fetch(target, { ...own, redirect: "manual", signal }).catch((error: unknown) =>
      unavailable(`the file could not be downloaded: ${withoutAddress(causeOf(error))}`),
    );
    const location = answer.headers.get("location");
    if (answer.status >= 300 && answer.status < 400 && location !== null && redirects < MAX_REDIRECTS) {
      await answer.body?.cancel();
      target = new URL(location, target);
      continue;
    }
    if (answer.ok) return { bytes: await bytesOf(answer, maxBytes), mimeType: typeOf(answer) };
    await answer.body?.cancel();
    const why = `the network answered ${answer.status} to the download`;
    return answer.status >= SERVER_ERRORS || answer.status === 429 ? unavailable(why) : invalidRequest(why);
  }
}

async function bytesOf(answer: Response, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => invalidRequest(`it is larger than ${megabytes(maxBytes)}`);
  if (Number(answer.headers.get("content-length") ?? 0) > maxBytes) {
    await answer.body?.cancel();
    return tooLarge();
  }
  try {
    return await readBody(answer, maxBytes, tooLarge);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    return unavailable(`the download was interrupted: ${withoutAddress(causeOf(error))}`);
  }
}

function typeOf(answer: Response): string | undefined {
  return answer.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() || undefined;
}

function withoutAddress(words: string): string {
  return words.replace(/https?:\/\/\S+/g, "the address");
}

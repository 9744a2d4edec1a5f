/** One HTTP request for audio to a service that the operator configured, so it may have any address. */
import { readBody } from "@svc/kit/body";
import { systemCodeOf } from "@svc/kit/providers";
import { GatewayError, unavailable } from "@svc/sdk";
import { MAX_AUDIO_BYTES } from "../audio.ts";

export type Fetch = typeof globalThis.fetch;

export interface AudioRequest {
  /** Name in error messages. */
  readonly engine: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Setting of the key, for the advice of a refused key. */
  readonly keySetting: string;
  readonly signal: AbortSignal;
}

/** @throws GatewayError `UNAVAILABLE` with a message for people, without the key; the signal's reason */
export async function fetchAudio(fetch: Fetch, request: AudioRequest): Promise<Uint8Array> {
  const { engine, url, headers, body, signal } = request;
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      redirect: "manual", // the key would follow to another host
      signal,
    });
    if (answer.status !== 200) return await refused(answer, request);
    return await readBody(answer, MAX_AUDIO_BYTES, () =>
      unavailable(`${engine} returned more than ${MAX_AUDIO_BYTES} bytes`),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof GatewayError) throw error;
    // Not its message, which may quote a header, and thereby the key.
    return unavailable(`${engine} cannot be reached (${systemCodeOf(error) ?? "no response"})`);
  }
}

async function refused(answer: Response, { engine, keySetting }: AudioRequest): Promise<never> {
  await answer.body?.cancel();
  const { status } = answer;
  const advice: Readonly<Record<number, string>> = {
    400: "check voice and model",
    401: `check ${keySetting}`,
    403: `check ${keySetting}`,
    404: "check baseUrl, voice and model",
    422: "check voice and model",
    429: "its limit is reached",
  };
  const moved = status >= 300 && status < 400 ? "it has moved: update its baseUrl" : undefined;
  const words = advice[status] ?? moved;
  return unavailable(`${engine} returned status ${status}${words === undefined ? "" : `; ${words}`}`);
}

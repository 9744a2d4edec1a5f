/** Client of a transcription server: `POST {baseUrl}/audio/transcriptions`. No other file here uses the network. */
import type { SoundFormat } from "@svc/kit/media";
import { readBody } from "@svc/kit/body";
import {
  isSystemTimeout,
  kindOfStatus,
  providerErrorOf,
  providerFailure,
  quoteServer,
  refuseAnswer,
  systemCodeOf,
} from "@svc/kit/providers";
import { isGatewayError, unavailable } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";

/** Choice: bytes of an answer. */
const MAX_ANSWER_BYTES = 1_000_000;
/** Choice: the name that most compatible servers know. */
const DEFAULT_MODEL = "whisper-1";
const SERVER = "the transcription server";

export interface SpeechRequest {
  readonly bytes: Uint8Array;
  readonly format: SoundFormat;
  readonly model: string | undefined;
  readonly language: string | undefined;
  readonly prompt: string | undefined;
}

/**
 * @param account its key and headers are sent to its address only: redirects are refused
 * @throws GatewayError `UNAVAILABLE` whose details are a `ProviderFailure`; the signal's reason
 */
export async function askServer(
  { bytes, format, model = DEFAULT_MODEL, language, prompt }: SpeechRequest,
  account: ProviderAccount,
  signal: AbortSignal,
): Promise<string> {
  const { baseUrl, apiKey, headers } = account;
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return unavailable(`${SERVER} has no address; set baseUrl`);
  const form = new FormData();
  form.set("file", new Blob([Buffer.from(bytes)], { type: format.mimeType }), `audio.${format.ending}`);
  form.set("model", model);
  form.set("response_format", "json");
  if (language !== undefined) form.set("language", language);
  if (prompt !== undefined) form.set("prompt", prompt);
  const key = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  try {
    const answer = await fetch(`${baseUrl.replace(/\/+$/, "")}/audio/transcriptions`, {
      method: "POST",
      headers: { accept: "application/json", ...key, ...headers },
      body: form,
      redirect: "manual",
      signal,
    });
    const body = await readBody(answer, MAX_ANSWER_BYTES, () =>
      refuseAnswer("server_error", `${SERVER} sent more than ${MAX_ANSWER_BYTES} bytes`),
    );
    return textOf(answer, body.toString(), account);
  } catch (thrown) {
    signal.throwIfAborted();
    if (isGatewayError(thrown)) throw thrown;
    return refuseAnswer(isSystemTimeout(thrown) ? "timeout" : "network", unreachable(thrown, baseUrl));
  }
}

function unreachable(thrown: unknown, baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${SERVER} at ${origin}${pathname} cannot be reached (${systemCodeOf(thrown) ?? "no answer"}); check its baseUrl`;
}

function textOf(answer: Response, body: string, account: ProviderAccount): string {
  const value = parsed(body);
  const { status, headers } = answer;
  if (status !== 200) {
    const said = messageIn(value);
    const sentence = `${SERVER} answered ${status}${status >= 300 && status < 400 ? "; redirects are not followed: correct baseUrl" : ""}`;
    const told = said === undefined ? sentence : sentence + quoteServer(providerErrorOf(said), said);
    throw providerFailure(
      { status, headers },
      { kind: kindOfStatus(status), sentence: told, account, now: Date.now() },
    );
  }
  const { text } = Object(value) as { readonly text?: unknown };
  if (typeof text !== "string")
    refuseAnswer("server_error", `${SERVER} sent no JSON with a text; check baseUrl, which usually ends in /v1`);
  return text;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function messageIn(value: unknown): string | undefined {
  const { error } = Object(value) as { readonly error?: unknown };
  const { message = error } = Object(error) as { readonly message?: unknown };
  return typeof message === "string" ? message : undefined;
}

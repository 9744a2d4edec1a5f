/** Network access: the chunks of an answer, and the models. The only file of this plugin that calls servers. */
import {
  createCalls,
  listedModel,
  type ModelPage,
  modelsIn,
  providerName,
  readModelList,
  reportedError,
  requestModelServer,
  serverEvents,
} from "@svc/kit/providers";
import type { Clock } from "@svc/sdk";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import { factsOf } from "./failure.ts";
import type { GenerateChunk, GenerateRequest } from "./wire.ts";

/** Default address of accounts. */
export const DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/v1beta";

export interface GeminiApiOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface GeminiApi {
  /**
   * Posts the request and yields the chunks of the answer, one list for those that arrived together.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  chunks(
    model: string,
    body: GenerateRequest,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncGenerator<readonly GenerateChunk[], void, void>;
  /** The models of the server that generate text. @throws like `chunks` */
  models(account: ProviderAccount, signal: AbortSignal): Promise<readonly ModelChoice[]>;
}

export function createGeminiApi({ clock, fetch }: GeminiApiOptions): GeminiApi {
  const calls = createCalls({ clock, factsOf });
  return {
    chunks: (model, body, account, signal) =>
      calls.stream({
        account,
        signal,
        model,
        async send() {
          const url = `${rootOf(account)}/${pathOf(model)}:streamGenerateContent?alt=sse`;
          const headers = headersOf(account);
          headers.set("content-type", "application/json");
          return requestModelServer(url, { method: "POST", headers, body: JSON.stringify(body), signal }, fetch);
        },
        read: (response) => serverEvents(response, providerName(account), ({ data }) => [chunkOf(data)]),
      }),

    models: (account, signal) =>
      calls.run({ account, signal }, async () => {
        const ask = (next: string | undefined) => {
          const query = new URLSearchParams({ pageSize: "1000", ...(next === undefined ? {} : { pageToken: next }) });
          const url = `${rootOf(account)}/models?${query.toString()}`;
          return requestModelServer(url, { headers: headersOf(account), signal }, fetch);
        };
        return readModelList(account, ask, (body) => pageOf(account, body));
      }),
  };
}

/** @throws errors for `toFailure`: a SyntaxError, or an object with the `error` that the server reports */
function chunkOf(data: string): GenerateChunk {
  const chunk = JSON.parse(data) as GenerateChunk; // from the wire: `answer.ts` tolerates other shapes
  if (chunk?.error) throw reportedError(chunk.error);
  return chunk;
}

function rootOf({ baseUrl = DEFAULT_BASE_URL }: ProviderAccount): string {
  return baseUrl.replace(/\/+$/u, "");
}

/** `models/<id>`, or e.g. `tunedModels/<id>` for ids with a slash. */
function pathOf(id: string): string {
  const path = id.includes("/") ? id : `models/${id}`;
  return path.split("/").map(encodeURIComponent).join("/");
}

/** The key is sent as a header: an address would show it in logs. */
function headersOf({ apiKey, headers = {} }: ProviderAccount): Headers {
  const all = new Headers(apiKey === undefined ? {} : { "x-goog-api-key": apiKey });
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return all;
}

/** A page of `GET /models`. Models for embeddings and speech are left out. */
function pageOf(account: ProviderAccount, body: unknown): ModelPage {
  const { models, nextPageToken } = body as Readonly<Record<string, unknown>>; // from the wire; each field is checked
  const found = modelsIn(models, ({ name, displayName, inputTokenLimit, supportedGenerationMethods, thinking }) => {
    const methods = Array.isArray(supportedGenerationMethods) ? supportedGenerationMethods : ["generateContent"];
    if (!methods.includes("generateContent") || typeof name !== "string") return undefined;
    const id = name.replace(/^models\//u, "");
    return listedModel(account, { id, name: displayName, contextWindow: [inputTokenLimit], reasoning: thinking });
  });
  return { models: found, next: typeof nextPageToken === "string" && nextPageToken !== "" ? nextPageToken : undefined };
}

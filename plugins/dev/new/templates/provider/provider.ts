/** Sends one request, reads one streamed answer, and converts all failures of the server to one form. */
import {
  kindOfStatus,
  providerErrorOf,
  providerFailure,
  providerName,
  quoteServer,
  refuseAnswer,
  unreachableSentence,
} from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import type { ModelProvider, ModelRequest, ProviderAccount } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";

export interface ProviderOptions {
  /** epoch ms */
  readonly now: () => number;
  /** Default: Node's own `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export function createProvider({ now, fetch = globalThis.fetch }: ProviderOptions): ModelProvider {
  /** @throws GatewayError if the server cannot be reached or rejects the request */
  async function ask(request: ModelRequest, account: ProviderAccount, signal: AbortSignal): Promise<Response> {
    const { baseUrl, apiKey, headers } = account;
    if (baseUrl === undefined) refuseAnswer("network", `${providerName(account)} has no address; set its baseUrl`);
    const key = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const body = JSON.stringify(bodyOf(request));
    const options = {
      method: "POST",
      headers: { "content-type": "application/json", ...key, ...headers },
      body,
      signal,
    };
    const answered = sameOriginFetch(fetch)(`${baseUrl}/chat/completions`, options);
    const response = await answered.catch((thrown: unknown) => {
      signal.throwIfAborted();
      const error = providerErrorOf(thrown);
      throw providerFailure(error, {
        kind: "network",
        sentence: unreachableSentence(error, account),
        account,
        now: now(),
      });
    });
    if (response.ok) return response;
    const { status } = response;
    const said = quoteServer({}, await response.text());
    const sentence = `${providerName(account)} rejected the request (${status})${said}`;
    throw providerFailure(
      { status, headers: response.headers },
      { kind: kindOfStatus(status), sentence, account, now: now() },
    );
  }

  return {
    async *stream(request, account, signal) {
      signal.throwIfAborted();
      const { body } = await ask(request, account, signal);
      const answer = createAnswer(providerName(account));
      try {
        for await (const bytes of body ?? []) yield* answer.take(bytes);
      } catch (thrown) {
        signal.throwIfAborted();
        const sentence = `${providerName(account)} broke off in the middle of its answer`;
        throw providerFailure(providerErrorOf(thrown), { kind: "network", sentence, account, now: now() });
      }
      yield* answer.end();
    },
  };
}

/** The request in the format of the server. Pure. */
function bodyOf({ model, system, messages, tools }: ModelRequest): object {
  const said = messages.flatMap(({ role, content }) => {
    const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    return texts.length > 0 && role !== "toolResult" ? [{ role, content: texts.join("\n") }] : [];
  });
  const offered = tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  return {
    model: model.id,
    stream: true,
    messages: [{ role: "system", content: system }, ...said],
    ...(offered.length > 0 ? { tools: offered } : {}),
  };
}

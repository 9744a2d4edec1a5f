/** Sends a model request to a server of the responses API, and yields model events. */
import { answerEvents, AnswerSize, providerErrorOf, providerName, reportedError } from "@svc/kit/providers";
import type { ModelProvider, ProviderAccount } from "@svc/sdk/models";
import type OpenAI from "openai";
import type { ResponseCreateParamsStreaming, ResponseStreamEvent } from "openai/resources/responses/responses";
import type { Clients } from "../clients.ts";
import { createAnswer } from "./answer.ts";
import { toParams, withoutReasoning } from "./translate.ts";

function withAddress(account: ProviderAccount): ProviderAccount {
  return { baseUrl: "https://api.openai.com/v1", ...account };
}

/** The encrypted reasoning comes from another organisation, e.g. from another account of this provider. */
const FOREIGN_REASONING = "invalid_encrypted_content";

export function createResponsesProvider(clients: Clients): ModelProvider {
  return {
    async *stream(request, given, signal) {
      const account = withAddress(given);
      const source = providerName(account);
      const answer = createAnswer(source, new AnswerSize(source, request));
      const params = toParams(request, account);
      const send = (client: OpenAI) => ask(client, params, signal);
      const events = clients.stream({ account, signal, model: request.model.id, send, parse: eventOf });
      yield* answerEvents(source, events, answer);
    },

    listModels: (account, signal) => clients.models(withAddress(account), signal),
  };
}

/** Choice: one more request without the reasoning that the server refuses, since every later request has it, too. */
async function ask(client: OpenAI, params: ResponseCreateParamsStreaming, signal: AbortSignal): Promise<Response> {
  const post = (body: ResponseCreateParamsStreaming) =>
    client.post("/responses", { body, stream: true, signal }).asResponse();
  try {
    return await post(params);
  } catch (thrown) {
    if (providerErrorOf(thrown).code !== FOREIGN_REASONING) throw thrown;
    return post(withoutReasoning(params));
  }
}

/** Events with an error, of the answer or in place of it. */
interface Failed {
  readonly type?: unknown;
  readonly code?: unknown;
  readonly error?: { readonly code?: unknown } | null;
  readonly response?: { readonly error?: { readonly code?: unknown } | null };
}

/** @throws errors for `toFailure`: a SyntaxError, or an object with the `error` that the server reports */
function eventOf(data: string): ResponseStreamEvent {
  if (data.startsWith("[DONE]")) return { type: "response.queued" } as ResponseStreamEvent; // of compatible servers; has no meaning here
  const event = JSON.parse(data) as ResponseStreamEvent & Failed; // from the wire: `answer.ts` tolerates other shapes
  if (event?.type === "error" || event?.type === "response.failed") {
    const { error, response, code } = event as Failed;
    const reported = error ?? response?.error;
    throw reportedError(reported ?? event, { code: reported?.code ?? code });
  }
  return event;
}

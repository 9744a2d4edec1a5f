/** Sends one request and reads one streamed answer. All errors of the server become failures of the account. */
import {
  answerEvents,
  AnswerSize,
  createCalls,
  kindOfError,
  providerName,
  refuseAnswer,
  reportedError,
  requestModelServer,
  serverEvents,
} from "@svc/kit/providers";
import type { Clock } from "@svc/sdk";
import type { ModelProvider, ModelRequest } from "@svc/sdk/models";
import { type Chunk, createAnswer } from "./answer.ts";

export interface ProviderOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export function createProvider({ clock, fetch }: ProviderOptions): ModelProvider {
  // Error codes of the server can be told apart here.
  const calls = createCalls({ clock, factsOf: (error) => ({ kind: kindOfError(error) }) });
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const chunks = calls.stream({
        account,
        signal,
        model: request.model.id,
        async send() {
          const { baseUrl, apiKey, headers } = account;
          if (baseUrl === undefined) refuseAnswer("network", `${source} has no address; set its baseUrl`);
          const key = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
          const all = { "content-type": "application/json", ...key, ...headers };
          const body = JSON.stringify(bodyOf(request));
          return requestModelServer(
            `${baseUrl}/chat/completions`,
            { method: "POST", headers: all, body, signal },
            fetch,
          );
        },
        read: (response) => serverEvents(response, source, ({ data }) => (data === "[DONE]" ? [] : [chunkOf(data)])),
      });
      yield* answerEvents(source, chunks, createAnswer(source, new AnswerSize(source, request)));
    },
  };
}

function chunkOf(data: string): Chunk {
  const chunk = JSON.parse(data) as Chunk | null; // missing fields are handled where they are read
  if (chunk?.error) throw reportedError(chunk.error);
  return chunk ?? {};
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

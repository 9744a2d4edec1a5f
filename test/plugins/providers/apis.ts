/** All providers of real servers, as one table. */
import type {
  AssistantMessage,
  ImageBlock,
  Message,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  ProviderAccount,
  ResolvedModel,
  ToolResultMessage,
  Usage,
} from "@svc/sdk/models";
import type { FactsOf } from "@svc/kit/providers";
import { createConverseApi } from "../../../plugins/provider-bedrock/api.ts";
import { factsOf as factsOfConverse } from "../../../plugins/provider-bedrock/failure.ts";
import { createProvider as createConverse } from "../../../plugins/provider-bedrock/provider.ts";
import { createGeminiApi } from "../../../plugins/provider-google/api.ts";
import { factsOf as factsOfGemini } from "../../../plugins/provider-google/failure.ts";
import { createProvider as createGemini } from "../../../plugins/provider-google/provider.ts";
import { createMessagesApi } from "../../../plugins/provider-anthropic/api.ts";
import { factsOf as factsOfMessages } from "../../../plugins/provider-anthropic/failure.ts";
import { createProvider as createMessages } from "../../../plugins/provider-anthropic/provider.ts";
import { createClients } from "../../../plugins/provider-openai/clients.ts";
import { factsOf as factsOfOpenAi } from "../../../plugins/provider-openai/failure.ts";
import { createProvider as createChat } from "../../../plugins/provider-openai/provider.ts";
import { createResponsesProvider } from "../../../plugins/provider-openai/responses/provider.ts";
import { type FakeModelServer, startFakeModelServer } from "../../../sdk/testing/fake-model-server.ts";
import { converseFormat } from "./servers/converse.ts";
import { geminiFormat } from "./servers/gemini.ts";
import { responsesFormat } from "./servers/responses.ts";
import { startScripted } from "./servers/scripted.ts";

const clock = { now: () => Date.now() };

export interface Api {
  readonly model: ResolvedModel;
  readonly create: () => ModelProvider;
  readonly server: () => Promise<FakeModelServer>;
  /** Header of the key, and its value. Default: a bearer token. */
  readonly keyHeader?: readonly [name: string, prefix: string];
  readonly factsOf: FactsOf;
  /** Usage as the server reports it, and as the provider tells it. */
  readonly usage: readonly [wire: Record<string, unknown>, told: Usage];
  /** How the server names an answer that reached its limit, and one it declined. */
  readonly limit: string;
  readonly declined: string;
}

export const apis: Readonly<Record<"openai" | "responses" | "anthropic" | "google" | "bedrock", Api>> = {
  openai: {
    model: { provider: "acme", id: "fake-model", name: "Fake", api: "openai-completions" },
    create: () => createChat(createClients({ clock })),
    server: startFakeModelServer,
    factsOf: factsOfOpenAi,
    usage: [
      { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, prompt_tokens_details: { cached_tokens: 4 } },
      { input: 5, output: 2, cacheRead: 4, cacheWrite: 0, totalTokens: 11 },
    ],
    limit: "length",
    declined: "content_filter",
  },
  anthropic: {
    model: { provider: "acme", id: "claude-haiku-4-5", name: "Fake", api: "anthropic-messages", reasoning: true },
    server: startFakeModelServer,
    create: () => createMessages(createMessagesApi({ clock, env: { ANTHROPIC_CUSTOM_HEADERS: "x-of-somebody: 1" } })),
    factsOf: factsOfMessages,
    usage: [
      { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 40, cache_creation_input_tokens: 3 },
      { input: 5, output: 2, cacheRead: 40, cacheWrite: 3, totalTokens: 50 },
    ],
    limit: "max_tokens",
    declined: "refusal",
  },
  responses: {
    model: { provider: "acme", id: "fake-model", name: "Fake", api: "openai-responses", reasoning: true },
    create: () => createResponsesProvider(createClients({ clock })),
    server: () => startScripted(responsesFormat),
    factsOf: factsOfOpenAi,
    usage: [
      { input_tokens: 9, output_tokens: 2, total_tokens: 11, input_tokens_details: { cached_tokens: 4 } },
      { input: 5, output: 2, cacheRead: 4, cacheWrite: 0, totalTokens: 11 },
    ],
    limit: "max_output_tokens",
    declined: "content_filter",
  },
  google: {
    model: { provider: "acme", id: "gemini-3-flash", name: "Fake", api: "google-generative-ai", reasoning: true },
    create: () => createGemini(createGeminiApi({ clock }), () => "made"),
    server: () => startScripted(geminiFormat),
    keyHeader: ["x-goog-api-key", ""],
    factsOf: factsOfGemini,
    usage: [
      {
        promptTokenCount: 9,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 3,
        totalTokenCount: 14,
      },
      { input: 5, output: 5, cacheRead: 4, cacheWrite: 0, totalTokens: 14 },
    ],
    limit: "MAX_TOKENS",
    declined: "SAFETY",
  },
  bedrock: {
    model: {
      provider: "acme",
      id: "us.anthropic.claude-haiku-4-5-20251001-v1:0",
      name: "Fake",
      api: "bedrock-converse-stream",
      reasoning: true,
    },
    create: () => createConverse(createConverseApi({ clock, env: {} })),
    server: () => startScripted(converseFormat),
    factsOf: (error, account) => factsOfConverse(error, account, {}),
    usage: [
      { inputTokens: 5, outputTokens: 2, cacheReadInputTokens: 40, cacheWriteInputTokens: 3, totalTokens: 50 },
      { input: 5, output: 2, cacheRead: 40, cacheWrite: 3, totalTokens: 50 },
    ],
    limit: "max_tokens",
    declined: "content_filtered",
  },
};

export const KEY = "sk-very-secret-key";

/** A provider with a server of its own; `account` may be changed between requests. */
export async function openProvider({ model, create, server: start }: Api) {
  const server: FakeModelServer = await start();
  const account: ProviderAccount = { name: "acme", baseUrl: server.url, apiKey: KEY };
  const provider = create();
  const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
    model,
    system: "Be kind.",
    messages: [user("hi there")],
    tools: [],
    ...changes,
  });
  const scene = {
    server,
    account,
    stream: (signal = new AbortController().signal, changes: Partial<ModelRequest> = {}) =>
      provider.stream(request(changes), scene.account, signal),
    async ask(changes: Partial<ModelRequest> = {}, signal?: AbortSignal): Promise<ModelEvent[]> {
      const events: ModelEvent[] = [];
      for await (const event of scene.stream(signal, changes)) if (!isAtWork(event)) events.push(event);
      return events;
    },
  };
  return scene;
}

/** An empty text: the server is at work. The plugin `models` does not pass it on. */
function isAtWork(event: ModelEvent): boolean {
  return event.type === "text" && event.delta === "";
}

const author = { api: "a", provider: "acme", model: "m", stopReason: "stop", timestamp: 1 } as const;

export const said = (text: string) => ({ type: "text", text }) as const;
export const user = (text: string): Message => ({ role: "user", content: [said(text)], timestamp: 1 });
export const assistant = (
  content: AssistantMessage["content"],
  changes: Partial<AssistantMessage> = {},
): AssistantMessage => ({ role: "assistant", content, ...author, ...changes });
export const call = (id: string, args: Record<string, unknown> = {}) =>
  ({ type: "toolCall", id, name: "t", arguments: args }) as const;
export const result = (toolCallId: string, changes: Partial<ToolResultMessage> = {}): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "t",
  content: [said(`from ${toolCallId}`)],
  isError: false,
  timestamp: 1,
  ...changes,
});
export const image: ImageBlock = { type: "image", data: "QUJD", mimeType: "image/png" };

/** What all providers make of servers that break the rules of their API. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ModelEvent, ModelProvider, ModelRequest } from "@svc/sdk/models";
import { createConverseApi } from "../../plugins/provider-bedrock/api.ts";
import { createProvider as createConverse } from "../../plugins/provider-bedrock/provider.ts";
import { createGeminiApi } from "../../plugins/provider-google/api.ts";
import { createProvider as createGemini } from "../../plugins/provider-google/provider.ts";
import { createMessagesApi } from "../../plugins/provider-anthropic/api.ts";
import { createProvider as createMessages } from "../../plugins/provider-anthropic/provider.ts";
import { createClients } from "../../plugins/provider-openai/clients.ts";
import { createProvider as createChat } from "../../plugins/provider-openai/provider.ts";
import { createResponsesProvider } from "../../plugins/provider-openai/responses/provider.ts";
import { frame } from "./providers/servers/converse.ts";

const request: ModelRequest = {
  model: { provider: "acme", id: "fake-model", name: "Fake", api: "x" },
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 }],
  tools: [{ name: "t", description: "Does it", parameters: { type: "object" } }],
  maxAnswerChars: 10_000,
};

/** A server that sends what `pieces` yields. */
function serving(pieces: () => Iterable<string | Uint8Array>): typeof globalThis.fetch {
  return async () => {
    const source = pieces()[Symbol.iterator]();
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = source.next();
        if (done) controller.close();
        else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

interface Language {
  readonly provider: (fetch: typeof globalThis.fetch) => ModelProvider;
  readonly event: (value: unknown) => string | Uint8Array;
  readonly call: (index: number) => object;
  /** Absent: arguments arrive in one piece. */
  readonly args?: (part: string) => object;
  /** The beginning of an event that does not end. */
  readonly begin?: string | Uint8Array;
  readonly odd: readonly unknown[];
  readonly reported: string | Uint8Array;
}

const clock = { now: () => 0 };
const delta = (fields: unknown) => ({ choices: [{ index: 0, delta: fields }] });
const languages: Record<string, Language> = {
  "chat-completions": {
    provider: (fetch) => createChat(createClients({ clock, fetch })),
    event: (value) => `data: ${JSON.stringify(value)}\n\n`,
    call: (index) => delta({ tool_calls: [{ index, id: `c${index}`, function: { name: "t", arguments: "" } }] }),
    args: (part) => delta({ tool_calls: [{ index: 0, function: { arguments: part } }] }),
    odd: [null, 7, { choices: 5 }, { choices: [7] }, delta({ tool_calls: {} }), delta({ content: { text: "x" } })],
    reported: `data: ${JSON.stringify({ error: { message: "out of memory", code: 500 } })}\n\n`,
  },
  responses: {
    provider: (fetch) => createResponsesProvider(createClients({ clock, fetch })),
    event: (value) => `data: ${JSON.stringify(value)}\n\n`,
    call: (output_index) => ({
      type: "response.output_item.added",
      output_index,
      item: { type: "function_call", call_id: `c${output_index}`, name: "t", arguments: "" },
    }),
    args: (part) => ({ type: "response.function_call_arguments.delta", output_index: 0, delta: part }),
    odd: [
      null,
      7,
      { type: "response.output_text.delta" },
      { type: "response.output_item.added", output_index: 0 },
      { type: "response.output_item.done", output_index: 0, item: 5 },
      { type: "response.completed" },
      { type: "response.failed", response: 5 },
    ],
    reported: `data: ${JSON.stringify({ type: "error", code: "server_error", message: "out of memory" })}\n\n`,
  },
  gemini: {
    provider: (fetch) => createGemini(createGeminiApi({ clock, fetch })),
    event: (value) => `data: ${JSON.stringify(value)}\n\n`,
    call: () => ({ candidates: [{ content: { parts: [{ functionCall: { name: "t", args: {} } }] } }] }),
    odd: [
      null,
      7,
      { candidates: 5 },
      { candidates: [{ content: { parts: 5 } }] },
      { candidates: [{ content: { parts: [null] } }] },
      { candidates: [{ finishReason: "SAFETY", finishMessage: 5 }] },
    ],
    reported: `data: ${JSON.stringify({ error: { code: 500, status: "INTERNAL", message: "out of memory" } })}\n\n`,
  },
  converse: {
    provider: (fetch) => createConverse(createConverseApi({ clock, fetch, env: {} })),
    event: (value) => {
      const { name = "contentBlockDelta", ...fields } = Object(value) as { name?: string };
      return frame(name, typeof value === "object" && value !== null ? fields : JSON.stringify(value));
    },
    call: (contentBlockIndex) => ({
      name: "contentBlockStart",
      contentBlockIndex,
      start: { toolUse: { toolUseId: `c${contentBlockIndex}`, name: "t" } },
    }),
    args: (part) => ({ contentBlockIndex: 0, delta: { toolUse: { input: part } } }),
    begin: new Uint8Array([0, 255, 255, 255]),
    odd: [null, 7, { name: "contentBlockStart", start: { toolUse: 5 } }, { delta: { toolUse: 5 } }, { delta: 7 }],
    reported: frame("internalServerException", { message: "out of memory" }, "exception"),
  },
  messages: {
    provider: (fetch) => createMessages(createMessagesApi({ clock, fetch, env: {} })),
    event: (value) => `event: x\ndata: ${JSON.stringify(value)}\n\n`,
    call: (index) => ({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id: `c${index}`, name: "t", input: {} },
    }),
    args: (part) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: part },
    }),
    odd: [null, 7, { type: "content_block_start" }, { type: "content_block_delta", index: 0 }],
    reported: `event: error\ndata: ${JSON.stringify({ error: { type: "api_error", message: "out of memory" } })}\n\n`,
  },
};

for (const [name, { provider, event, call, args, begin, odd, reported }] of Object.entries(languages)) {
  describe(`an answer of a ${name} server`, () => {
    async function ask(pieces: () => Iterable<string | Uint8Array>): Promise<ModelEvent[]> {
      const events: ModelEvent[] = [];
      const stream = provider(serving(pieces)).stream(
        request,
        { name: "acme", baseUrl: "http://host.example", apiKey: "k" },
        new AbortController().signal,
      );
      for await (const piece of stream) events.push(piece);
      return events;
    }
    const refusal = (kind: string, message: RegExp) => ({ code: "UNAVAILABLE", message, details: { kind } });

    it("is refused when one piece of it does not end", () =>
      assert.rejects(
        ask(function* () {
          yield begin ?? "data: ";
          for (;;) yield "x".repeat(65_536);
        }),
        refusal("server_error", /more than 1000000 (?:characters in one piece|bytes)/u),
      ));

    it("is refused when the arguments of a tool call do not end", { skip: args === undefined }, () =>
      assert.rejects(
        ask(function* () {
          yield event(call(0));
          for (;;) yield event(args?.("[".repeat(1_000)));
        }),
        refusal("request", /was cut: it has more than 10000 characters/u),
      ),
    );

    it("is refused when its tool calls do not end", () =>
      assert.rejects(
        ask(function* () {
          for (let index = 0; ; index += 1) yield event(call(index));
        }),
        refusal("request", /was cut: it has more than 10000 characters/u),
      ));

    for (const value of odd) {
      it(`is the server's fault where a piece is ${JSON.stringify(value)}`, () =>
        assert.rejects(
          ask(() => [event(value)]),
          (error: { code: string; message: string }) => {
            assert.equal(error.code, "UNAVAILABLE");
            assert.match(error.message, /model provider "acme"/u);
            return true;
          },
        ));
    }

    it("is refused when it is a page instead of an answer", () =>
      assert.rejects(
        ask(() => ["<!doctype html><html><body>Sign in</body></html>\n"]),
        (error: { code: string; details: { kind: string }; message: string }) => {
          assert.equal(error.code, "UNAVAILABLE");
          assert.match(error.details.kind, /^(?:server_error|network)$/u);
          assert.match(error.message, /model provider "acme"/u);
          return true;
        },
      ));

    it("is refused in the words of the server that reports an error in it", () =>
      assert.rejects(
        ask(() => [reported]),
        refusal("server_error", /out of memory/u),
      ));
  });
}

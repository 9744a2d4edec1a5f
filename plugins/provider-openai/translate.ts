/** Converts model requests to the chat-completions API. Pure; `answer.ts` converts answers. */
import { IMAGE_LEFT_OUT, NO_RESULT, resultsAfter } from "@svc/kit/providers";
import {
  type AnswerOptions,
  type AssistantMessage,
  type ImageBlock,
  type ModelRequest,
  type ProviderAccount,
  type ResponseFormat,
  type TextBlock,
  textOf,
  type ToolCallBlock,
  type ToolChoice,
  type ToolResultMessage,
  type ToolSpec,
} from "@svc/sdk/models";
import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
  ChatCompletionToolChoiceOption,
} from "openai/resources/chat/completions";
import { digest, isOfficial, reasoningEffort } from "./settings.ts";

/** The body of `POST /chat/completions`. */
export function toParams(request: ModelRequest, account: ProviderAccount): ChatCompletionCreateParamsStreaming {
  const { model, tools, toolChoice, options = {} } = request;
  const params: ChatCompletionCreateParamsStreaming = {
    model: model.id,
    messages: toMessages(request),
    stream: true,
    stream_options: { include_usage: true },
    ...toOptions(options),
  };
  if (tools.length > 0) {
    params.tools = tools.map(toTool);
    if (toolChoice !== undefined) params.tool_choice = toChoice(toolChoice);
    if (options.parallelToolCalls !== undefined) params.parallel_tool_calls = options.parallelToolCalls;
  }
  const effort = reasoningEffort(request);
  if (effort) params.reasoning_effort = effort;
  const official = isOfficial(account.baseUrl);
  const limit = Math.min(options.maxTokens ?? Infinity, model.maxTokens ?? Infinity);
  if (limit !== Infinity) params[official ? "max_completion_tokens" : "max_tokens"] = limit;
  // Hashed, since a session key may contain a phone number. Other servers may reject an unknown field.
  if (official && request.sessionKey) params.prompt_cache_key = digest(request.sessionKey);
  return params;
}

function toOptions({
  temperature,
  topP,
  frequencyPenalty,
  presencePenalty,
  seed,
  stop,
  responseFormat,
}: AnswerOptions) {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined ? {} : { stop: [...stop] }),
    ...(responseFormat === undefined ? {} : { response_format: toFormat(responseFormat) }),
  };
}

function toFormat(format: ResponseFormat): NonNullable<ChatCompletionCreateParamsStreaming["response_format"]> {
  if (format.type === "json_object") return { type: "json_object" };
  const { type, ...jsonSchema } = format;
  return { type, json_schema: jsonSchema };
}

function toChoice(choice: ToolChoice): ChatCompletionToolChoiceOption {
  return typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } };
}

function toTool({ name, description, parameters }: ToolSpec): ChatCompletionFunctionTool {
  // `ToolSpec.parameters` is the JSON Schema of an object by contract.
  return { type: "function", function: { name, description, parameters: parameters as Record<string, unknown> } };
}

/**
 * The conversation. The API requires the results of all calls directly after the message with the calls, so they are moved
 * there; a missing result is replaced, and a result whose call was cut from the history is left out.
 */
function toMessages({ system, messages, model }: ModelRequest): ChatCompletionMessageParam[] {
  const images = model.input?.includes("image") ?? true;
  const wire: ChatCompletionMessageParam[] = system === "" ? [] : [{ role: "system", content: system }];
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") wire.push({ role: "user", content: toContent(message.content, images) });
    if (message.role === "assistant") wire.push(...toTurn(message, resultsAfter(messages, index), images));
  }
  return wire;
}

/** An assistant message with its tool results; nothing for an empty one, which the API rejects. Thinking is never sent back. */
function toTurn(
  message: AssistantMessage,
  results: readonly ToolResultMessage[],
  images: boolean,
): ChatCompletionMessageParam[] {
  const text = textOf(message);
  const calls = message.content.filter((block): block is ToolCallBlock => block.type === "toolCall");
  if (calls.length === 0) return text === "" ? [] : [{ role: "assistant", content: text }];
  const answered = calls.map((call) => ({ call, result: results.find(({ toolCallId }) => toolCallId === call.id) }));
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      tool_calls: calls.map(({ id, name, arguments: args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    },
    ...answered.map(({ call, result }) => toToolMessage(call.id, result)),
    ...answered.flatMap(({ result }) => (result && images ? toImagesOf(result) : [])),
  ];
}

function toToolMessage(id: string, result: ToolResultMessage | undefined): ChatCompletionMessageParam {
  if (!result) return { role: "tool", tool_call_id: id, content: NO_RESULT };
  const text = textOf(result) || (result.content.length > 0 ? "[see the image]" : "[empty]");
  return { role: "tool", tool_call_id: id, content: result.isError ? `Error: ${text}` : text };
}

/** Tool messages contain only text, so their images follow in a user message. */
function toImagesOf({ toolName, content }: ToolResultMessage): ChatCompletionMessageParam[] {
  const images = content.filter((block): block is ImageBlock => block.type === "image");
  if (images.length === 0) return [];
  return [{ role: "user", content: toContent([{ type: "text", text: `Images from ${toolName}:` }, ...images], true) }];
}

/** A plain string if possible, since some servers accept nothing else. */
function toContent(blocks: readonly (TextBlock | ImageBlock)[], images: boolean): string | ChatCompletionContentPart[] {
  if (images && blocks.some(({ type }) => type === "image")) return blocks.map(toPart);
  return blocks.map((block) => (block.type === "text" ? block.text : IMAGE_LEFT_OUT)).join("\n");
}

function toPart(block: TextBlock | ImageBlock): ChatCompletionContentPart {
  if (block.type === "text") return { type: "text", text: block.text };
  return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
}

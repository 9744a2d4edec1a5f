/** Converts model requests to the responses API. Pure; `answer.ts` converts answers. */
import { EMPTY_MESSAGE, IMAGE_LEFT_OUT, isOwnMessage, NO_RESULT, refuseAnswer, resultsAfter } from "@svc/kit/providers";
import {
  type AnswerOptions,
  type AssistantMessage,
  type ImageBlock,
  type ModelRequest,
  type ProviderAccount,
  type ResolvedModel,
  type ResponseFormat,
  type TextBlock,
  textOf,
  type ThinkingBlock,
  type ToolResultMessage,
  type ToolSpec,
} from "@svc/sdk/models";
import type {
  FunctionTool,
  ResponseCreateParamsStreaming,
  ResponseFormatTextConfig,
  ResponseInputImage,
  ResponseInputItem,
  ResponseInputText,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import { digest, isOfficial, reasoningEffort } from "../settings.ts";

/** Smallest token limit that the API accepts. */
const MIN_TOKENS = 16;

/** The body of `POST /responses`. Nothing is stored at the server: each request has the whole conversation. */
export function toParams(request: ModelRequest, account: ProviderAccount): ResponseCreateParamsStreaming {
  const { model, system, tools, toolChoice, options = {}, sessionKey } = request;
  const limit = Math.min(options.maxTokens ?? Infinity, model.maxTokens ?? Infinity);
  const params: ResponseCreateParamsStreaming = {
    model: model.id,
    input: toInput(request),
    stream: true,
    store: false,
    ...(system === "" ? {} : { instructions: system }),
    ...(limit === Infinity ? {} : { max_output_tokens: Math.max(MIN_TOKENS, limit) }),
    ...toReasoning(request),
    ...toOptions(options),
  };
  if (tools.length > 0) {
    params.tools = tools.map(toTool);
    if (toolChoice !== undefined) {
      params.tool_choice = typeof toolChoice === "string" ? toolChoice : { type: "function", name: toolChoice.name };
    }
    if (options.parallelToolCalls !== undefined) params.parallel_tool_calls = options.parallelToolCalls;
  }
  // Hashed, since a session key may contain a phone number. Other servers may reject the field.
  if (sessionKey && isOfficial(account.baseUrl)) params.prompt_cache_key = digest(sessionKey);
  return params;
}

/** The request without the reasoning of earlier answers, which only the organisation that got it can send back. */
export function withoutReasoning(params: ResponseCreateParamsStreaming): ResponseCreateParamsStreaming {
  const { input } = params;
  return Array.isArray(input) ? { ...params, input: input.filter(({ type }) => type !== "reasoning") } : params;
}

/**
 * The reasoning is asked for in encrypted form, so that it can be sent back without being stored. Choice: summaries are
 * asked for with a thinking level only, since the API refuses them to organisations that it has not verified.
 */
function toReasoning(request: ModelRequest): Partial<ResponseCreateParamsStreaming> {
  const { model, thinking } = request;
  if (model.reasoning !== true) return {};
  const include: ResponseCreateParamsStreaming["include"] = ["reasoning.encrypted_content"];
  if (thinking === undefined || thinking === "off") return { include };
  const effort = reasoningEffort(request);
  return { include, reasoning: { summary: "auto", ...(effort === undefined ? {} : { effort }) } };
}

/** The API has no penalties and no seed. @throws GatewayError for texts to stop at, which must not be ignored silently */
function toOptions({ temperature, topP, stop, responseFormat }: AnswerOptions): Partial<ResponseCreateParamsStreaming> {
  if (stop !== undefined && stop.length > 0) {
    refuseAnswer("request", "the responses API does not support stop texts: remove them, or use another model");
  }
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(responseFormat === undefined ? {} : { text: { format: toFormat(responseFormat) } }),
  };
}

function toFormat(format: ResponseFormat): ResponseFormatTextConfig {
  if (format.type === "json_object") return { type: "json_object" };
  const { type, name, description, schema, strict } = format;
  return {
    type,
    name,
    schema: { ...schema },
    ...(description === undefined ? {} : { description }),
    ...(strict === undefined ? {} : { strict }),
  };
}

function toTool({ name, description, parameters }: ToolSpec): FunctionTool {
  // `ToolSpec.parameters` is the JSON Schema of an object by contract. Strict mode would refuse optional parameters.
  return { type: "function", name, description, parameters: parameters as Record<string, unknown>, strict: false };
}

/** The API requires an output for each call; a missing one is replaced, and an output without its call is left out. */
function toInput({ messages, model }: ModelRequest): ResponseInputItem[] {
  const images = model.input?.includes("image") ?? true;
  return messages.flatMap((message, index): ResponseInputItem[] => {
    if (message.role === "user")
      return [{ type: "message", role: "user", content: toContent(message.content, images) }];
    if (message.role === "assistant") return toTurn(message, resultsAfter(messages, index), model, images);
    return [];
  });
}

function toTurn(
  message: AssistantMessage,
  results: readonly ToolResultMessage[],
  model: ResolvedModel,
  images: boolean,
): ResponseInputItem[] {
  const isOwn = isOwnMessage(message, model);
  const items = message.content.flatMap((block): ResponseInputItem[] => {
    if (block.type === "text") return block.text === "" ? [] : [{ role: "assistant", content: block.text }];
    if (block.type === "thinking") return isOwn ? toReasoningItem(block) : [];
    return [{ type: "function_call", call_id: block.id, name: block.name, arguments: JSON.stringify(block.arguments) }];
  });
  while (items.at(-1)?.type === "reasoning") items.pop(); // the API refuses reasoning that nothing follows
  const outputs = message.content.flatMap((block) =>
    block.type === "toolCall"
      ? [
          toOutput(
            block.id,
            results.find(({ toolCallId }) => toolCallId === block.id),
            images,
          ),
        ]
      : [],
  );
  return [...items, ...outputs];
}

/** The signature of a reasoning item: what the API needs to recognise it. */
export function signatureOf({ id, encrypted_content }: ResponseReasoningItem): string | undefined {
  return encrypted_content ? JSON.stringify({ id, encrypted_content }) : undefined;
}

function toReasoningItem({ thinking, thinkingSignature = "" }: ThinkingBlock): ResponseInputItem[] {
  try {
    const { id, encrypted_content } = JSON.parse(thinkingSignature) as Partial<ResponseReasoningItem>;
    if (typeof id !== "string" || typeof encrypted_content !== "string") return [];
    const summary: ResponseReasoningItem.Summary[] = thinking === "" ? [] : [{ type: "summary_text", text: thinking }];
    return [{ type: "reasoning", id, summary, encrypted_content }];
  } catch {
    return []; // a signature of another API
  }
}

function toOutput(call_id: string, result: ToolResultMessage | undefined, images: boolean): ResponseInputItem {
  const type = "function_call_output";
  if (!result) return { type, call_id, output: NO_RESULT };
  if (images && result.content.some((block) => block.type === "image")) {
    return { type, call_id, output: toContent(result.content, images) };
  }
  const text = textOf(result) || (result.content.length > 0 ? IMAGE_LEFT_OUT : "[empty]");
  return { type, call_id, output: result.isError ? `Error: ${text}` : text };
}

function toContent(
  blocks: readonly (TextBlock | ImageBlock)[],
  images: boolean,
): (ResponseInputText | ResponseInputImage)[] {
  const content = blocks.map((block): ResponseInputText | ResponseInputImage => {
    if (block.type === "text") return { type: "input_text", text: block.text };
    if (!images) return { type: "input_text", text: IMAGE_LEFT_OUT };
    return { type: "input_image", detail: "auto", image_url: `data:${block.mimeType};base64,${block.data}` };
  });
  return content.length > 0 ? content : [{ type: "input_text", text: EMPTY_MESSAGE }];
}

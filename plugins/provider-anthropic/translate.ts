/** Converts model requests to the Messages API. Pure; `answer.ts` converts answers. */
import {
  alternatingTurns,
  claudeThinking,
  IMAGE_LEFT_OUT,
  isOwnMessage,
  NO_RESULT,
  refuseAnswer,
  wireId,
} from "@svc/kit/providers";
import type {
  AnswerOptions,
  AssistantMessage,
  ImageBlock,
  ModelRequest,
  ResolvedModel,
  TextBlock,
  ThinkingBlock,
  ToolResultMessage,
  ToolSpec,
} from "@svc/sdk/models";
import type {
  Base64ImageSource,
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParamsStreaming,
  TextBlockParam,
  Tool,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import { type BlockMessage, markForCache } from "./caching.ts";

/** Prefix of the signature that stores the data of a redacted thinking block. */
export const REDACTED = "redacted_thinking:";

/** The body of `POST /v1/messages`. */
export function toParams(request: ModelRequest): MessageCreateParamsStreaming {
  const { tools, system, messages } = markForCache({
    tools: request.tools.map(toTool),
    system: isBlank(request.system) ? [] : [{ type: "text", text: request.system }],
    messages: toMessages(request),
  });
  return {
    model: request.model.id,
    stream: true,
    messages,
    ...(system.length > 0 ? { system } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    ...claudeThinking(request),
    ...toOptions(request.options),
    ...(tools.length > 0 ? toChoice(request) : {}),
  };
}

/** The API has no penalties, seed or response format. @throws GatewayError for a response format, which must not be ignored silently */
function toOptions({
  temperature,
  topP,
  stop,
  responseFormat,
}: AnswerOptions = {}): Partial<MessageCreateParamsStreaming> {
  if (responseFormat !== undefined) {
    refuseAnswer("request", "models of this API do not support response_format: remove it, or offer a tool");
  }
  return {
    ...(temperature === undefined ? {} : { temperature: Math.min(1, temperature) }), // the API's maximum is 1
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stop === undefined ? {} : { stop_sequences: [...stop] }),
  };
}

function toChoice({ toolChoice = "auto", options }: ModelRequest): Partial<MessageCreateParamsStreaming> {
  const single = options?.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (typeof toolChoice === "object") return { tool_choice: { type: "tool", name: toolChoice.name, ...single } };
  if (toolChoice === "required") return { tool_choice: { type: "any", ...single } };
  if (toolChoice === "none") return { tool_choice: { type: "none" } };
  return options?.parallelToolCalls === false ? { tool_choice: { type: "auto", ...single } } : {};
}

function toTool({ name, description, parameters }: ToolSpec): Tool {
  // `ToolSpec.parameters` is the JSON Schema of an object by contract; the API requires an explicit `type`.
  return { name, description, input_schema: { ...(parameters as object), type: "object" } };
}

/** The conversation with alternating roles, which the API requires. */
function toMessages({ messages, model }: ModelRequest): BlockMessage[] {
  const images = model.input?.includes("image") ?? true;
  return alternatingTurns<ContentBlockParam>(messages, {
    text: (text) => ({ type: "text", text }),
    user: ({ content }) => toContent(content, images),
    assistant: (message) => toTurn(message, model),
    result: ({ id }, result) => [toResult(wireId(id), result, images)],
  });
}

/** An assistant message; nothing if the message is empty or has only thinking, since the API rejects both. */
function toTurn(message: AssistantMessage, model: ResolvedModel): ContentBlockParam[] {
  const isOwn = isOwnMessage(message, model);
  const blocks = message.content.flatMap((block): ContentBlockParam[] => {
    if (block.type === "text") return isBlank(block.text) ? [] : [{ type: "text", text: block.text }];
    if (block.type === "toolCall") {
      return [{ type: "tool_use", id: wireId(block.id), name: block.name, input: block.arguments }];
    }
    return isOwn ? toThought(block) : [];
  });
  return blocks.some(({ type }) => type === "text" || type === "tool_use") ? blocks : [];
}

/**
 * A signed thinking block of the same model is sent back unchanged; other blocks cannot be verified and are left out.
 */
function toThought({ thinking, thinkingSignature: signature }: ThinkingBlock): ContentBlockParam[] {
  if (signature === undefined || signature === "") return [];
  if (!signature.startsWith(REDACTED)) return [{ type: "thinking", thinking, signature }];
  return [{ type: "redacted_thinking", data: signature.slice(REDACTED.length) }];
}

function toResult(id: string, result: ToolResultMessage | undefined, images: boolean): ToolResultBlockParam {
  const block = { type: "tool_result", tool_use_id: id } as const;
  if (!result) return { ...block, content: NO_RESULT, is_error: true };
  const content = toContent(result.content, images);
  return {
    ...block,
    content: content.length > 0 ? content : "[empty]",
    ...(result.isError ? { is_error: true } : {}),
  };
}

/** Leaves out blank text, which the API rejects. */
function toContent(blocks: readonly (TextBlock | ImageBlock)[], images: boolean): (TextBlockParam | ImageBlockParam)[] {
  return blocks.flatMap((block): (TextBlockParam | ImageBlockParam)[] => {
    if (block.type === "text") return isBlank(block.text) ? [] : [{ type: "text", text: block.text }];
    if (!images) return [{ type: "text", text: IMAGE_LEFT_OUT }];
    // The API rejects unsupported image types with a message that lists the supported ones.
    const media_type = block.mimeType as Base64ImageSource["media_type"];
    return [{ type: "image", source: { type: "base64", media_type, data: block.data } }];
  });
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Converts model requests to the Messages API. Pure; `answer.ts` converts answers. */
import { createHash } from "node:crypto";
import { refuseAnswer } from "@svc/kit/providers";
import type {
  AnswerOptions,
  AssistantMessage,
  ImageBlock,
  Message,
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
import { thinkingFields } from "./thinking.ts";

/** Replaces images if the model accepts only text. */
export const IMAGE_LEFT_OUT = "[image left out: this model takes text only]";

/** Replaces a missing tool result, since the API rejects a call without one. */
export const NO_RESULT = "[no result: the run was stopped before the tool answered]";

/** Precedes a history that begins with an answer, since the API requires a user message first. */
export const HISTORY_CUT = "[earlier messages left out]";

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
    ...thinkingFields(request),
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

/**
 * The conversation with alternating roles. The API requires the results of all calls at the start of the message after the
 * calls, so they are moved there; a missing result is replaced, and a result whose call was cut from the history is left
 * out.
 */
function toMessages({ messages, model }: ModelRequest): BlockMessage[] {
  const images = model.input?.includes("image") ?? true;
  const wire: BlockMessage[] = [];
  const add = (role: BlockMessage["role"], content: readonly ContentBlockParam[]) => {
    const last = wire.at(-1);
    if (content.length === 0) return;
    if (last?.role === role) last.content.push(...content);
    else wire.push({ role, content: [...content] });
  };
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") add("user", orPlaceholder(toContent(message.content, images)));
    if (message.role !== "assistant") continue;
    if (wire.length === 0) add("user", [{ type: "text", text: HISTORY_CUT }]);
    add("assistant", toTurn(message, model));
    add("user", toResults(message, resultsAfter(messages, index), images));
  }
  return wire;
}

/** Tool results between the assistant message at `index` and the next one. */
function resultsAfter(messages: readonly Message[], index: number): ToolResultMessage[] {
  const results: ToolResultMessage[] = [];
  for (let next = index + 1; messages[next] && messages[next]?.role !== "assistant"; next += 1) {
    const message = messages[next];
    if (message?.role === "toolResult") results.push(message);
  }
  return results;
}

/** An assistant message; nothing if the message is empty or has only thinking, since the API rejects both. */
function toTurn(message: AssistantMessage, model: ResolvedModel): ContentBlockParam[] {
  const isOwn = message.api === model.api && message.model === model.id;
  const blocks = message.content.flatMap((block): ContentBlockParam[] => {
    if (block.type === "text") return isBlank(block.text) ? [] : [{ type: "text", text: block.text }];
    if (block.type === "toolCall") {
      return [{ type: "tool_use", id: toWireId(block.id), name: block.name, input: block.arguments }];
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

function toResults(
  message: AssistantMessage,
  results: readonly ToolResultMessage[],
  images: boolean,
): ToolResultBlockParam[] {
  return message.content
    .filter((block) => block.type === "toolCall")
    .map(({ id }) =>
      toResult(
        toWireId(id),
        results.find(({ toolCallId }) => toolCallId === id),
        images,
      ),
    );
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

function orPlaceholder(content: (TextBlockParam | ImageBlockParam)[]): (TextBlockParam | ImageBlockParam)[] {
  return content.length > 0 ? content : [{ type: "text", text: "[empty message]" }];
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

/** The API accepts letters, digits, `_` and `-` in call ids; ids of other servers may contain more. */
function toWireId(id: string): string {
  return /^[\w-]+$/u.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}

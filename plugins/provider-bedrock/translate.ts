/** Converts model requests to the Converse API. Pure; `answer.ts` converts answers. */
import {
  alternatingTurns,
  claudeThinking,
  IMAGE_LEFT_OUT,
  isOwnMessage,
  NO_RESULT,
  refuseAnswer,
  type Turn,
  wireId,
} from "@svc/kit/providers";
import type {
  AssistantMessage,
  ImageBlock,
  ModelRequest,
  ResolvedModel,
  TextBlock,
  ThinkingBlock,
  ToolResultMessage,
} from "@svc/sdk/models";
import type { Block, ConverseRequest, Message, Tool } from "./wire.ts";

/** Prefix of the signature that stores the data of a redacted thinking block. */
export const REDACTED = "redactedContent:";

const CACHE_POINT = { cachePoint: { type: "default" } } as const;

/** The body of `POST /model/{id}/converse-stream`. */
export function toBody(request: ModelRequest): ConverseRequest {
  const { model, system } = request;
  const caches = hasCache(model);
  const turns = toTurns(request);
  const tools = toTools(request, turns);
  const thinking = isClaude(model) ? claudeThinking(request) : undefined;
  const inferenceConfig = toConfig(request, thinking?.thinking ? thinking.max_tokens : undefined);
  const additional = thinking ? withoutLimit(thinking) : otherThinking(request);
  return {
    messages: caches ? markForCache(turns) : turns,
    ...(system.trim() === "" ? {} : { system: [{ text: system }, ...(caches ? [CACHE_POINT] : [])] }),
    ...(Object.keys(inferenceConfig).length > 0 ? { inferenceConfig } : {}),
    ...(tools.length > 0
      ? { toolConfig: { tools: [...tools, ...(caches ? [CACHE_POINT] : [])], ...toChoice(request) } }
      : {}),
    ...(Object.keys(additional).length > 0 ? { additionalModelRequestFields: additional } : {}),
  };
}

/** Calls of an answer that may be passed on; the API can neither forbid calls nor limit them to one. */
export function maxCalls({ tools, toolChoice, options }: ModelRequest): number {
  if (tools.length === 0 || toolChoice === "none") return 0;
  return options?.parallelToolCalls === false ? 1 : Infinity;
}

/** @param thinkingLimit maximum tokens of thinking and answer; the API has no penalties, seed or response format */
function toConfig(
  { model, options = {} }: ModelRequest,
  thinkingLimit: number | undefined,
): NonNullable<ConverseRequest["inferenceConfig"]> {
  const { temperature, topP, stop, responseFormat } = options;
  if (responseFormat !== undefined) {
    refuseAnswer("request", "models of this API do not support response_format: remove it, or offer a tool");
  }
  const limit = thinkingLimit ?? Math.min(options.maxTokens ?? Infinity, model.maxTokens ?? Infinity);
  return {
    ...(limit === Infinity ? {} : { maxTokens: limit }),
    ...(temperature === undefined ? {} : { temperature: Math.min(1, temperature) }), // the API's maximum is 1
    ...(topP === undefined ? {} : { topP }),
    ...(stop === undefined || stop.length === 0 ? {} : { stopSequences: [...stop] }),
  };
}

function isClaude({ id }: Pick<ResolvedModel, "id">): boolean {
  return id.includes("claude-");
}

/** Claude from version 3.7 on. Other models reject cache points, or cache without them. */
function hasCache({ id }: Pick<ResolvedModel, "id">): boolean {
  return isClaude({ id }) && !/claude-(?:v2|instant|3-(?:opus|sonnet|haiku|5))/u.test(id);
}

function withoutLimit({ max_tokens: _limit, ...fields }: ReturnType<typeof claudeThinking>): object {
  return fields;
}

/** Thinking of other models with a documented field. */
function otherThinking({ model, thinking }: ModelRequest): object {
  if (model.reasoning !== true || thinking === undefined || thinking === "off" || thinking === "adaptive") return {};
  const effort = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high" }[thinking];
  if (model.id.includes("openai.gpt-oss")) return { reasoning_effort: effort };
  if (model.id.includes("amazon.nova-2")) return { reasoningConfig: { type: "enabled", maxReasoningEffort: effort } };
  return {};
}

/** The tools. The API rejects a history with calls unless tools are defined, so those of the history stand in. */
function toTools({ tools }: ModelRequest, turns: readonly Message[]): Tool[] {
  if (tools.length > 0) {
    return tools.map(({ name, description, parameters }) => {
      const json = { ...(parameters as object), type: "object" }; // the JSON Schema of an object by contract
      return { toolSpec: { name, ...(description === "" ? {} : { description }), inputSchema: { json } } };
    });
  }
  const called = turns.flatMap(({ content }) => content.flatMap(({ toolUse }) => (toolUse ? [toolUse.name] : [])));
  return [...new Set(called)].map((name) => ({
    toolSpec: { name, description: "No longer available", inputSchema: { json: { type: "object" } } },
  }));
}

function toChoice({ tools, toolChoice }: ModelRequest): Pick<NonNullable<ConverseRequest["toolConfig"]>, "toolChoice"> {
  if (tools.length === 0) return {};
  if (typeof toolChoice === "object") return { toolChoice: { tool: { name: toolChoice.name } } };
  return toolChoice === "required" ? { toolChoice: { any: {} } } : {};
}

/** Marks the ends of the last two user messages: the former request ended at the second to last one. */
function markForCache(turns: readonly Message[]): Message[] {
  const users = turns.filter(({ role }) => role === "user").slice(-2);
  return turns.map((turn) => (users.includes(turn) ? { ...turn, content: [...turn.content, CACHE_POINT] } : turn));
}

function toTurns({ messages, model }: ModelRequest): Turn<Block>[] {
  const images = model.input?.includes("image") ?? true;
  return alternatingTurns<Block>(messages, {
    text: (text) => ({ text }),
    user: ({ content }) => toContent(content, images),
    assistant: (message) => toTurn(message, model),
    result: ({ id }, result) => [toResult(wireId(id), result, images)],
  });
}

/** An assistant message; nothing if the message is empty or has only thinking, since the API rejects both. */
function toTurn(message: AssistantMessage, model: ResolvedModel): Block[] {
  const isOwn = isOwnMessage(message, model);
  const blocks = message.content.flatMap((block): Block[] => {
    if (block.type === "text") return block.text.trim() === "" ? [] : [{ text: block.text }];
    if (block.type === "thinking") return isOwn ? toThought(block) : [];
    return [{ toolUse: { toolUseId: wireId(block.id), name: block.name, input: block.arguments } }];
  });
  return blocks.some(({ text, toolUse }) => text !== undefined || toolUse) ? blocks : [];
}

/** Signed thinking of the same model is sent back unchanged; other thinking cannot be verified and is left out. */
function toThought({ thinking, thinkingSignature: signature = "" }: ThinkingBlock): Block[] {
  if (signature === "") return [];
  if (!signature.startsWith(REDACTED)) return [{ reasoningContent: { reasoningText: { text: thinking, signature } } }];
  return [{ reasoningContent: { redactedContent: signature.slice(REDACTED.length) } }];
}

function toResult(toolUseId: string, result: ToolResultMessage | undefined, images: boolean): Block {
  if (!result) return { toolResult: { toolUseId, content: [{ text: NO_RESULT }], status: "error" } };
  const content = toContent(result.content, images);
  return {
    toolResult: {
      toolUseId,
      content: content.length > 0 ? content : [{ text: "[empty]" }],
      ...(result.isError ? { status: "error" } : {}),
    },
  };
}

/** Leaves out blank text, which the API rejects. */
function toContent(blocks: readonly (TextBlock | ImageBlock)[], images: boolean): Block[] {
  return blocks.flatMap((block): Block[] => {
    if (block.type === "text") return block.text.trim() === "" ? [] : [{ text: block.text }];
    if (!images) return [{ text: IMAGE_LEFT_OUT }];
    // The API rejects unsupported formats with a message that lists the supported ones.
    return [{ image: { format: block.mimeType.replace(/^image\//u, ""), source: { bytes: block.data } } }];
  });
}

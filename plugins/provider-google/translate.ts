/** Converts model requests to the API of Gemini. Pure; `answer.ts` converts answers. */
import { alternatingTurns, IMAGE_LEFT_OUT, isOwnMessage, NO_RESULT } from "@svc/kit/providers";
import {
  type AssistantMessage,
  type ImageBlock,
  type ModelRequest,
  type ResolvedModel,
  type TextBlock,
  textOf,
  type ToolCallBlock,
  type ToolResultMessage,
  type ToolSpec,
} from "@svc/sdk/models";
import { toApiSchema } from "./schema.ts";
import { geminiVersion, thinkingConfig } from "./thinking.ts";
import type { Content, FunctionDeclaration, GenerateRequest, Part } from "./wire.ts";

/** Prefix of a thinking signature that belongs to the function call after it. */
export const FOR_CALL = "functionCall:";
/** Prefix of a thinking signature that belongs to the text before it. */
export const FOR_TEXT = "text:";

/** Gemini from version 3 on rejects a call without a signature; this one stands for a call of another model. Spec: thought signatures. */
export const NO_SIGNATURE = "skip_thought_signature_validator";

/** The body of `POST /models/{id}:streamGenerateContent`. */
export function toBody(request: ModelRequest): GenerateRequest {
  const { system, tools } = request;
  const generationConfig = toConfig(request);
  return {
    contents: toContents(request),
    ...(system.trim() === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length > 0
      ? { tools: [{ functionDeclarations: tools.map(toDeclaration) }], ...toToolConfig(request) }
      : {}),
    ...(Object.keys(generationConfig).length > 0 ? { generationConfig } : {}),
  };
}

function toConfig(request: ModelRequest): NonNullable<GenerateRequest["generationConfig"]> {
  const { model, options = {} } = request;
  const { temperature, topP, frequencyPenalty, presencePenalty, seed, stop, responseFormat } = options;
  const limit = Math.min(options.maxTokens ?? Infinity, model.maxTokens ?? Infinity);
  const thinking = thinkingConfig(request);
  return {
    ...(limit === Infinity ? {} : { maxOutputTokens: limit }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(frequencyPenalty === undefined ? {} : { frequencyPenalty }),
    ...(presencePenalty === undefined ? {} : { presencePenalty }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined || stop.length === 0 ? {} : { stopSequences: [...stop] }),
    ...(responseFormat === undefined ? {} : { responseMimeType: "application/json" }),
    ...(responseFormat?.type === "json_schema" ? { responseSchema: toApiSchema(responseFormat.schema) } : {}),
    ...(thinking === undefined ? {} : { thinkingConfig: thinking }),
  };
}

function toToolConfig({ toolChoice = "auto" }: ModelRequest): Pick<GenerateRequest, "toolConfig"> {
  if (toolChoice === "auto") return {};
  if (toolChoice === "none") return { toolConfig: { functionCallingConfig: { mode: "NONE" } } };
  const named = typeof toolChoice === "object" ? { allowedFunctionNames: [toolChoice.name] } : {};
  return { toolConfig: { functionCallingConfig: { mode: "ANY", ...named } } };
}

/** A tool without parameters has no schema, since the API rejects objects without properties there. */
function toDeclaration({ name, description, parameters }: ToolSpec): FunctionDeclaration {
  const schema = toApiSchema({ ...(parameters as object), type: "object" }); // the JSON Schema of an object by contract
  const isEmpty = !("properties" in schema || "anyOf" in schema);
  return { name, description, ...(isEmpty ? {} : { parameters: schema }) };
}

/** The conversation. The API requires the responses of all functions in one message after the calls, and nothing else in it. */
function toContents({ messages, model }: ModelRequest): Content[] {
  const images = model.input?.includes("image") ?? true;
  const turns = alternatingTurns<Part>(messages, {
    text: (text) => ({ text }),
    user: ({ content }) => toParts(content, images),
    assistant: (message) => toTurn(message, model),
    result: (call, result) => toResult(call, result, images),
  });
  return turns.flatMap(({ role, content }): Content[] => {
    if (role === "assistant") return [{ role: "model", parts: content }];
    const responses = content.filter(({ functionResponse }) => functionResponse);
    const others = content.filter(({ functionResponse }) => !functionResponse);
    return [responses, others].flatMap((parts): Content[] => (parts.length > 0 ? [{ role: "user", parts }] : []));
  });
}

/** A message of the model. Thoughts are not sent back, only their signatures, in the parts in which they arrived. */
function toTurn(message: AssistantMessage, model: ResolvedModel): Part[] {
  const isOwn = isOwnMessage(message, model);
  const parts: Part[] = [];
  let signature: string | undefined;
  let called = false;
  for (const block of message.content) {
    if (block.type === "text") {
      if (block.text.trim() !== "") parts.push({ text: block.text });
    } else if (block.type === "thinking") {
      const { thinkingSignature: own = "" } = block;
      if (isOwn && own.startsWith(FOR_CALL)) signature = own.slice(FOR_CALL.length);
      if (isOwn && own.startsWith(FOR_TEXT)) addToText(parts, own.slice(FOR_TEXT.length));
    } else {
      // Only the first of several calls has a signature.
      const needsOne = !called && (geminiVersion(model.id) ?? 3) >= 3;
      const thoughtSignature = signature ?? (needsOne ? NO_SIGNATURE : undefined);
      const functionCall = { id: block.id, name: block.name, args: block.arguments };
      parts.push({ functionCall, ...(thoughtSignature === undefined ? {} : { thoughtSignature }) });
      signature = undefined;
      called = true;
    }
  }
  return parts.some(({ text, functionCall }) => text || functionCall) ? parts : [];
}

function addToText(parts: Part[], thoughtSignature: string): void {
  const last = parts.at(-1);
  if (last?.text !== undefined && last.thoughtSignature === undefined) {
    parts[parts.length - 1] = { ...last, thoughtSignature };
  } else parts.push({ text: "", thoughtSignature });
}

/** Images of a tool follow the responses, since most models accept only text in them. */
function toResult({ id, name }: ToolCallBlock, result: ToolResultMessage | undefined, images: boolean): Part[] {
  const response = (fields: object): Part => ({ functionResponse: { id, name, response: fields } });
  if (!result) return [response({ error: NO_RESULT })];
  const pictures = images ? result.content.filter((block): block is ImageBlock => block.type === "image") : [];
  const left = images ? "[see the image]" : IMAGE_LEFT_OUT;
  const text = textOf(result) || (result.content.length > 0 ? left : "[empty]");
  return [
    response(result.isError ? { error: text } : { output: text }),
    ...(pictures.length > 0 ? [{ text: `Images from ${name}:` }, ...toParts(pictures, images)] : []),
  ];
}

/** Leaves out blank text, which the API rejects. */
function toParts(blocks: readonly (TextBlock | ImageBlock)[], images: boolean): Part[] {
  return blocks.flatMap((block): Part[] => {
    if (block.type === "text") return block.text.trim() === "" ? [] : [{ text: block.text }];
    if (!images) return [{ text: IMAGE_LEFT_OUT }];
    return [{ inlineData: { mimeType: block.mimeType, data: block.data } }];
  });
}

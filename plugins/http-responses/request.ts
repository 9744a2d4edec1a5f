/** Validates and normalizes a request of `POST /v1/responses`. Pure. Spec: http/responses.md §2. */
import type { Static } from "@svc/sdk";
import { type AnswerOptions, parseThinkingLevel, type ResponseFormat, type ThinkingLevel } from "@svc/sdk/models";
import { checked, objectAt, type Path, refuse } from "./check.ts";
import { type Item, itemsOf } from "./items.ts";
import { Body, FORMATS, ReasoningField, TextField } from "./schema.ts";
import { type AskedTools, askedTools } from "./tools.ts";

export interface ResponsesRequest extends AskedTools {
  readonly body: Static<typeof Body>;
  readonly items: readonly Item[];
  readonly options: AnswerOptions;
  readonly thinking: ThinkingLevel | undefined;
  /** Output format as returned in the response. */
  readonly format: ResponseFormat | { readonly type: "text" };
}

/** Error messages for unsupported fields. */
const NOT_HERE: Readonly<Record<string, string>> = {
  conversation:
    "conversations are not stored by id; continue with previous_response_id or the header x-svc-session-key",
  prompt: "prompts are not stored; send the text as instructions",
  context_management: "the gateway summarizes long conversations itself; see agents.defaults.compaction",
  moderation: "is not supported",
};

const INCLUDABLE = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
];

/** @throws GatewayError `INVALID_REQUEST` with the first fault, `<dotted path>: <issue>` */
export function readRequest(value: unknown): ResponsesRequest {
  const body = checked(Body, value, []);
  refuseWhatIsNotHere(body);
  const format = formatOf(body);
  return {
    body,
    items: itemsOf(body.input),
    ...askedTools(body.tools, body.tool_choice),
    options: optionsOf(body, format),
    thinking: thinkingOf(body),
    format,
  };
}

function refuseWhatIsNotHere(body: Static<typeof Body>): void {
  const given = Object.keys(NOT_HERE).find((key) => Object.hasOwn(body, key));
  if (given !== undefined) refuse([given], NOT_HERE[given] ?? "");
  if (body.background) refuse(["background"], "background responses are not supported; remove this field");
  if (body.top_logprobs) refuse(["top_logprobs"], "log probabilities are not supported; remove this field");
  for (const [index, name] of (body.include ?? []).entries()) {
    const path: Path = ["include", index];
    if (name === "message.output_text.logprobs") refuse(path, "log probabilities are not supported; remove this entry");
    if (!INCLUDABLE.includes(name)) refuse(path, `${name.slice(0, 64)} is unknown; remove this entry`);
  }
}

function formatOf({ text }: Static<typeof Body>): ResponsesRequest["format"] {
  const { format } = checked(TextField, text ?? {}, ["text"]);
  if (format === undefined) return { type: "text" };
  const path: Path = ["text", "format"];
  const { type } = objectAt(format, path);
  if (type === "text") return checked(FORMATS.text, format, path);
  if (type === "json_object") return checked(FORMATS.json_object, format, path);
  if (type === "json_schema") return checked(FORMATS.json_schema, format, path);
  return refuse([...path, "type"], 'must be "text", "json_object" or "json_schema"');
}

function optionsOf(body: Static<typeof Body>, format: ResponsesRequest["format"]): AnswerOptions {
  const { max_output_tokens, temperature, top_p, parallel_tool_calls } = body;
  return {
    ...(max_output_tokens === undefined ? {} : { maxTokens: max_output_tokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { topP: top_p }),
    ...(parallel_tool_calls === undefined ? {} : { parallelToolCalls: parallel_tool_calls }),
    ...(format.type === "text" ? {} : { responseFormat: format }),
  };
}

function thinkingOf({ reasoning }: Static<typeof Body>): ThinkingLevel | undefined {
  const { effort } = checked(ReasoningField, reasoning ?? {}, ["reasoning"]);
  return effort === undefined ? undefined : parseThinkingLevel(effort);
}

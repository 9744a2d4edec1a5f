/** Every field of a request: its schema, and whether it is used, ignored or refused. Pure. Spec: http/chat-completions.md §2 and §9. */
import { type Static, Strict, type TObject, type TProperties, type TSchema, Type } from "@svc/sdk";

const text = Type.String();
const number = (minimum: number, maximum: number) => Type.Optional(Type.Number({ minimum, maximum }));
const count = Type.Optional(Type.Integer({ minimum: 1 }));
const isFlag = Type.Optional(Type.Boolean());
/** Unknown keys are ignored: clients send additional ones. */
const Loose = <P extends TProperties>(properties: P): TObject<P> => Type.Object(properties);
const JsonObject = Type.Record(Type.String(), Type.Unknown());
const anything = Type.Optional(Type.Unknown());

const FUNCTION_NAME = Type.String({ pattern: "^[a-zA-Z0-9_-]{1,64}$" });
const nullable = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

const FunctionTool = Loose({
  type: Type.Literal("function"),
  function: Loose({
    name: FUNCTION_NAME,
    description: nullable(text),
    parameters: nullable(JsonObject),
    strict: nullable(Type.Boolean()),
  }),
});

const JsonSchema = Loose({
  name: FUNCTION_NAME,
  description: nullable(text),
  schema: nullable(JsonObject),
  strict: nullable(Type.Boolean()),
});

/** The body, without its fields that are `null`. */
export const Body = Strict({
  messages: anything,
  model: Type.Optional(text),
  user: Type.Optional(Type.String({ maxLength: 256 })), // Choice: it becomes part of a session key
  stream: isFlag,
  stream_options: Type.Optional(Loose({ include_usage: nullable(Type.Boolean()) })),
  tools: Type.Optional(Type.Array(FunctionTool, { maxItems: 128 })),
  tool_choice: anything,
  parallel_tool_calls: isFlag,
  max_completion_tokens: count,
  max_tokens: count,
  temperature: number(0, 2),
  top_p: number(0, 1),
  frequency_penalty: number(-2, 2),
  presence_penalty: number(-2, 2),
  seed: Type.Optional(Type.Integer()),
  stop: anything,
  reasoning_effort: Type.Optional(Type.Enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
  response_format: Type.Optional(
    Loose({ type: Type.Enum(["text", "json_object", "json_schema"]), json_schema: nullable(JsonSchema) }),
  ),
  n: Type.Optional(Type.Literal(1)),
  logprobs: Type.Optional(Type.Literal(false)),
  top_logprobs: Type.Optional(Type.Literal(0)),
  logit_bias: Type.Optional(Strict({})),
  modalities: Type.Optional(Type.Array(Type.Literal("text"), { minItems: 1, maxItems: 1 })),
  // Without effect: hints for the service behind the public API, and storage options of that service.
  store: anything,
  metadata: anything,
  service_tier: anything,
  safety_identifier: anything,
  prompt_cache_key: anything,
  prompt_cache_options: anything,
  prompt_cache_retention: anything,
  verbosity: anything,
});
export type Body = Static<typeof Body>;

/** Fields that request unsupported features; ignoring them would leave the answer incomplete. */
export const REFUSED: Readonly<Record<string, string>> = {
  audio: "answers are text only; remove this field",
  functions: "is not supported; use tools",
  function_call: "is not supported; use tool_choice",
  moderation: "moderation is not supported; remove this field",
  prediction: "predicted output is not supported; remove this field",
  web_search_options: "the agent searches with its own tools; remove this field",
};

/** Error messages for fields that only accept their default. */
export const ONLY: Readonly<Record<string, string>> = {
  n: "a request has one answer: only 1 is allowed",
  logprobs: "log probabilities are not available: only false is allowed",
  top_logprobs: "log probabilities are not available: only 0 is allowed",
  logit_bias: "token weights are not supported: only {} is allowed",
  modalities: 'answers are text only: only ["text"] is allowed',
};

/**
 * Schemas of a request, in both shapes: that of the public API, and the older shape with `function` and `source`
 * objects. Objects are strict; keys without effect are listed in the README. Spec: http/responses.md §2 and §3.
 */
import { NonEmpty, Strict, type TSchema, Type } from "@svc/sdk";

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
const positive = Type.Optional(Type.Integer({ minimum: 1 }));
const anything = Type.Optional(Type.Unknown());
const choice = <V extends string>(...values: V[]) => Type.Optional(Type.Enum(values));
const range = (minimum: number, maximum: number) => Type.Optional(Type.Number({ minimum, maximum }));

const summary = choice("auto", "concise", "detailed");
export const ReasoningField = Strict({
  effort: choice("none", "minimal", "low", "medium", "high", "xhigh", "max"),
  summary,
  generate_summary: summary,
  context: choice("auto", "current_turn", "all_turns"),
  mode: text,
});

/** The request. An `Unknown` field has its own schema, chosen by its `type`. */
export const Body = Strict({
  model: NonEmpty,
  input: Type.Unknown(),
  instructions: text,
  tools: anything,
  tool_choice: anything,
  parallel_tool_calls: flag,
  max_tool_calls: positive,
  stream: flag,
  stream_options: Type.Optional(Strict({ include_obfuscation: flag })),
  max_output_tokens: positive,
  temperature: range(0, 2),
  top_p: range(0, 1),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
  text: anything,
  reasoning: anything,
  include: Type.Optional(Type.Array(Type.String())),
  truncation: choice("auto", "disabled"),
  user: text,
  store: flag,
  previous_response_id: Type.Optional(NonEmpty),
  metadata: Type.Optional(
    Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), { maxProperties: 16 }),
  ),
  background: flag,
  conversation: anything,
  prompt: anything,
  context_management: anything,
  moderation: anything,
  service_tier: choice("auto", "default", "flex", "scale", "priority"),
  safety_identifier: text,
  prompt_cache_key: text,
  prompt_cache_retention: text,
  prompt_cache_options: anything,
});

export const TextField = Strict({ format: anything, verbosity: choice("low", "medium", "high") });

/** Output formats by `type`. */
export const FORMATS = {
  text: Strict({ type: Type.Literal("text") }),
  json_object: Strict({ type: Type.Literal("json_object") }),
  json_schema: Strict({
    type: Type.Literal("json_schema"),
    name: NonEmpty,
    schema: Type.Record(Type.String(), Type.Unknown()),
    description: text,
    strict: flag,
  }),
} as const;

const parameters = Type.Optional(Type.Record(Type.String(), Type.Unknown()));
const functionFields = { name: NonEmpty, description: text, parameters, strict: flag };
const functionType = Type.Literal("function");

export const FlatTool = Strict({ type: functionType, ...functionFields });
export const NestedTool = Strict({ type: functionType, function: Type.Unknown() });
export const NestedFunction = Strict(functionFields);

export const FlatChoice = Strict({ type: functionType, name: Type.String() });
export const NestedChoice = Strict({ type: functionType, function: Type.Unknown() });
export const NestedChoiceName = Strict({ name: Type.String() });
export const AllowedTools = Strict({
  type: Type.Literal("allowed_tools"),
  mode: Type.Enum(["auto", "required"]),
  tools: Type.Array(Type.Unknown()),
});

/** Fields of items that a client sends back from a response. */
const echoed = { id: text, status: choice("in_progress", "completed", "incomplete") };
const thoughts = Type.Optional(
  Type.Union([Type.String(), Type.Array(Type.Record(Type.String(), Type.Unknown()))], {
    description: "text, or parts of text",
  }),
);
const content = Type.Unknown();

/** Items by `type`. */
export const ITEMS = {
  message: Strict({
    type: Type.Optional(Type.Literal("message")),
    role: Type.Enum(["user", "assistant", "system", "developer"]),
    content,
    phase: choice("commentary", "final_answer"),
    ...echoed,
  }),
  function_call: Strict({
    type: Type.Literal("function_call"),
    call_id: Type.Optional(NonEmpty),
    name: NonEmpty,
    arguments: Type.String(),
    parsed_arguments: anything,
    ...echoed,
  }),
  function_call_output: Strict({
    type: Type.Literal("function_call_output"),
    call_id: NonEmpty,
    output: content,
    ...echoed,
  }),
  reasoning: Strict({
    type: Type.Literal("reasoning"),
    content: thoughts,
    summary: thoughts,
    encrypted_content: text,
    ...echoed,
  }),
  item_reference: Strict({ type: Type.Optional(Type.Literal("item_reference")), id: NonEmpty }),
} as const satisfies Record<string, TSchema>;

const breakpoint = anything;

/** Parts of a message's content by `type`. */
export const PARTS = {
  input_text: Strict({ type: Type.Literal("input_text"), text: Type.String(), prompt_cache_breakpoint: breakpoint }),
  output_text: Strict({
    type: Type.Literal("output_text"),
    text: Type.String(),
    annotations: Type.Optional(Type.Array(Type.Unknown())),
    logprobs: Type.Optional(Type.Array(Type.Unknown())),
    parsed: anything,
  }),
  refusal: Strict({ type: Type.Literal("refusal"), refusal: Type.String() }),
  input_image: Strict({
    type: Type.Literal("input_image"),
    image_url: Type.Optional(NonEmpty),
    source: anything,
    file_id: text,
    detail: choice("low", "high", "auto", "original"),
    prompt_cache_breakpoint: breakpoint,
  }),
  input_file: Strict({
    type: Type.Literal("input_file"),
    file_data: Type.Optional(NonEmpty),
    file_url: Type.Optional(NonEmpty),
    filename: text,
    source: anything,
    file_id: text,
    detail: choice("low", "high", "auto"),
    prompt_cache_breakpoint: breakpoint,
  }),
} as const;

export const UrlSource = Strict({ type: Type.Literal("url"), url: NonEmpty });
const base64 = { type: Type.Literal("base64"), media_type: NonEmpty, data: NonEmpty };
export const ImageSource = Strict(base64);
export const FileSource = Strict({ ...base64, filename: text });

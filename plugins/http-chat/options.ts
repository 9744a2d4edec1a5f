/** Answer options of a request, in the gateway's format. Pure. Spec: http/chat-completions.md §9. */
import {
  type AnswerOptions,
  parseThinkingLevel,
  type ResponseFormat,
  type ThinkingLevel,
  type ToolChoice,
  type ToolSpec,
} from "@svc/sdk/models";
import type { Body } from "./fields.ts";
import { refuseField } from "./refusals.ts";

const MAX_STOPS = 4;

/** @throws GatewayError `INVALID_REQUEST` naming the field */
export function readOptions(body: Body): AnswerOptions {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const stop = readStop(body.stop);
  const responseFormat = readFormat(body.response_format);
  const { temperature, top_p: topP, frequency_penalty: frequencyPenalty, presence_penalty: presencePenalty } = body;
  const { seed, parallel_tool_calls: parallelToolCalls } = body;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(frequencyPenalty === undefined ? {} : { frequencyPenalty }),
    ...(presencePenalty === undefined ? {} : { presencePenalty }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(parallelToolCalls === undefined ? {} : { parallelToolCalls }),
    ...(responseFormat === undefined ? {} : { responseFormat }),
  };
}

export function readThinking({ reasoning_effort: effort }: Body): ThinkingLevel | undefined {
  return effort === undefined ? undefined : parseThinkingLevel(effort);
}

function readStop(stop: unknown): readonly string[] {
  if (stop === undefined) return [];
  const texts: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  if (texts.length > MAX_STOPS) refuseField("stop", `at most ${MAX_STOPS} texts are allowed`);
  return texts.map((text) =>
    typeof text === "string" && text !== ""
      ? text
      : refuseField("stop", "must be a text or a list of texts, none empty"),
  );
}

function readFormat(format: Body["response_format"]): ResponseFormat | undefined {
  if (!format || format.type === "text") return undefined;
  if (format.type === "json_object") return { type: "json_object" };
  const { json_schema: asked } = format;
  if (!asked) return refuseField("response_format.json_schema", "is missing", "missing_required_parameter");
  const { name, description, schema, strict } = asked;
  return {
    type: "json_schema",
    name,
    schema: schema ?? {},
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
  };
}

/** Tools that the caller runs. */
export function readTools({ tools = [] }: Body): readonly ToolSpec[] {
  const specs = tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description: description ?? "",
    parameters: parameters ?? { type: "object", properties: {} },
  }));
  const second = specs.findIndex(({ name }, index) => specs.findIndex((other) => other.name === name) < index);
  if (second >= 0) refuseField(`tools[${second}].function.name`, `there are two tools called ${specs[second]?.name}`);
  return specs;
}

/** @throws GatewayError `INVALID_REQUEST` for a choice of a tool that does not exist */
export function readChoice({ tool_choice: choice }: Body, tools: readonly ToolSpec[]): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (choice === "auto" || choice === "none") return choice;
  if (choice === "required") return tools.length > 0 ? choice : refuseField("tool_choice", "required needs tools");
  const name = nameIn(choice);
  if (name === undefined)
    return refuseField(
      "tool_choice",
      'must be "auto", "none", "required" or {"type":"function","function":{"name":…}}',
    );
  if (!tools.some((tool) => tool.name === name)) refuseField("tool_choice", `there is no tool called ${name} in tools`);
  return { name };
}

function nameIn(choice: unknown): string | undefined {
  const { type, function: called } = (choice ?? {}) as { type?: unknown; function?: { name?: unknown } | null }; // each field is checked
  return type === "function" && typeof called?.name === "string" ? called.name : undefined;
}

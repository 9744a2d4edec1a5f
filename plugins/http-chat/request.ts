/** Validates a request and converts it to the gateway's format. Pure. Spec: http/chat-completions.md §2 and §9. */
import { invalidRequest, matches, parseJsonBody, type Violation, violations } from "@svc/sdk";
import type { AnswerOptions, ThinkingLevel, ToolChoice, ToolSpec } from "@svc/sdk/models";
import { type Conversation, readConversation } from "./conversation.ts";
import { Body, ONLY, REFUSED } from "./fields.ts";
import { readChoice, readOptions, readThinking, readTools } from "./options.ts";
import { refuseField } from "./refusals.ts";

/** A validated request. */
export interface Question {
  /** The model as sent, else `svc`. The response repeats it. */
  readonly model: string;
  readonly user: string | undefined;
  readonly isStream: boolean;
  /** The stream ends with a chunk that contains the usage. */
  readonly includeUsage: boolean;
  readonly conversation: Conversation;
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice | undefined;
  readonly options: AnswerOptions;
  readonly thinking: ThinkingLevel | undefined;
}

/** Spec: §2; also the model name in the response if the request has none. */
const DEFAULT_MODEL = "svc";

/** An empty body is `{}`. @throws GatewayError `INVALID_REQUEST` naming the field */
export function readQuestion(rawBody: Uint8Array): Question {
  const body = checked(parseJsonBody(rawBody));
  const tools = readTools(body);
  return {
    model: body.model ?? DEFAULT_MODEL,
    user: body.user,
    isStream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    tools,
    toolChoice: readChoice(body, tools),
    options: readOptions(body),
    thinking: readThinking(body),
    conversation: readConversation(body.messages),
  };
}

/** `null` counts as absent, as in the public API. */
function checked(value: unknown): Body {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return invalidRequest("the request body must be a JSON object");
  const body = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
  for (const [name, why] of Object.entries(REFUSED))
    if (Object.hasOwn(body, name)) refuseField(name, why, "unsupported_parameter");
  requireFunctions(body["tools"]);
  if (matches(Body, body)) return body;
  const [first = { path: "", message: "is not valid" }]: Violation[] = violations(Body, body);
  return refuseViolation(first);
}

/** Checked separately: for a tool of another type the schema would report missing fields that do not apply. */
function requireFunctions(tools: unknown): void {
  if (!Array.isArray(tools)) return;
  const other = tools.findIndex((tool: { readonly type?: unknown } | null) => tool?.type !== "function");
  if (other >= 0)
    refuseField(`tools[${other}].type`, 'only tools of type "function" are supported', "unsupported_value");
}

function refuseViolation({ path, message, unexpected }: Violation): never {
  if (path === "" && unexpected !== undefined)
    refuseField(unexpected.slice(0, 64), "unknown field; remove it", "unknown_parameter");
  const param = dotted(path);
  const [field = ""] = param.split(/[.[]/, 1);
  const only = Object.hasOwn(ONLY, field) ? ONLY[field] : undefined;
  return refuseField(param, only ?? message, only === undefined ? "invalid_value" : "unsupported_value");
}

/** `/tools/0/function` -> `tools[0].function`. */
function dotted(pointer: string): string {
  return pointer
    .slice(1)
    .replace(/\/(\d+)(?=\/|$)/g, "[$1]")
    .replaceAll("/", ".");
}

/** One entry of `messages` in the gateway's format. Pure. Spec: http/chat-completions.md §4 and §9. */
import type { AssistantMessage, ToolCallBlock, ToolResultMessage } from "@svc/sdk/models";
import { parseToolArguments } from "@svc/sdk/tools";
import { fieldsOf, joinedText, type Part, readContent } from "./content.ts";
import { refuseField } from "./refusals.ts";

/** A user message; its images are not loaded yet. */
export interface UserEntry {
  readonly role: "user";
  readonly parts: readonly Part[];
}

/** A tool result. It has no tool name if the request does not contain the call. */
export interface ResultEntry {
  readonly role: "toolResult";
  readonly param: string;
  readonly toolCallId: string;
  readonly toolName: string | undefined;
  readonly text: string;
}

export type Entry = UserEntry | ResultEntry | AssistantMessage;

type Fields = Readonly<Record<string, unknown>>;

/** Calls of the assistant so far: id -> name. */
export type KnownCalls = Map<string, string>;

/** @param calls calls of earlier entries; calls of this entry are added. @returns `undefined` for an empty entry. @throws GatewayError `INVALID_REQUEST` naming the field */
export function readEntry(role: string, fields: Fields, param: string, calls: KnownCalls): Entry | undefined {
  if (role === "user") return readUser(fields, param);
  if (role === "assistant") return readAssistant(fields, param, calls);
  return readResult(role, fields, param, calls);
}

function readUser({ content }: Fields, param: string): UserEntry | undefined {
  const parts = readContent(content, `${param}.content`, "user");
  const isBlank = joinedText(parts).trim() === "" && parts.every(({ type }) => type === "text");
  return isBlank ? undefined : { role: "user", parts };
}

function readAssistant(fields: Fields, param: string, known: KnownCalls): AssistantMessage | undefined {
  const { content, refusal, audio } = fields;
  if (audio !== undefined && audio !== null)
    refuseField(`${param}.audio`, "audio is not supported; send its transcript as text");
  const said = joinedText(readContent(content, `${param}.content`, "assistant"));
  const text = [said, typeof refusal === "string" ? refusal : ""].filter(Boolean).join("\n");
  const calls = readCalls(fields, param);
  for (const { id, name } of calls) known.set(id, name);
  if (text.trim() === "" && calls.length === 0) return undefined;
  return {
    role: "assistant",
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
    ...AUTHOR,
    stopReason: calls.length > 0 ? "toolUse" : "stop",
    timestamp: 0,
  };
}

/** Fields of assistant messages that no model call of this gateway produced. */
const AUTHOR = { api: "chat-completions", provider: "caller", model: "caller" } as const;

function readCalls(fields: Fields, param: string): readonly ToolCallBlock[] {
  const { tool_calls: list, function_call: older } = fields;
  if (older !== undefined && older !== null)
    refuseField(`${param}.function_call`, "is not supported; send the call in tool_calls");
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return refuseField(`${param}.tool_calls`, "must be a list");
  return list.map((call, index) => readCall(call, `${param}.tool_calls[${index}]`));
}

function readCall(call: unknown, param: string): ToolCallBlock {
  const { id, type = "function", function: called } = fieldsOf(call, param);
  if (type !== "function") refuseField(`${param}.type`, 'only calls of type "function" are supported');
  if (typeof id !== "string" || id === "") return refuseField(`${param}.id`, "must be a text");
  const { name, arguments: json } = fieldsOf(called, `${param}.function`);
  if (typeof name !== "string" || name === "") return refuseField(`${param}.function.name`, "must be a text");
  const args = typeof json === "string" ? parseToolArguments(json) : undefined;
  if (!args) return refuseField(`${param}.function.arguments`, "must be a JSON object, as text");
  return { type: "toolCall", id, name, arguments: args };
}

/** Choice: the older role `function` is accepted like `tool` if the message names the call that it answers. */
function readResult(role: string, fields: Fields, param: string, known: KnownCalls): ResultEntry {
  const { tool_call_id: id, content } = fields;
  if (typeof id !== "string" || id === "")
    return refuseField(`${param}.tool_call_id`, `a message of role ${role} must name the call it answers`);
  const text = joinedText(readContent(content, `${param}.content`, "other"));
  return { role: "toolResult", param, toolCallId: id, toolName: known.get(id), text };
}

/** @param timestamp epoch ms; 0 for messages of the request's history */
export function resultMessage(
  { toolCallId, text }: Pick<ResultEntry, "toolCallId" | "text">,
  toolName: string,
  timestamp: number,
): ToolResultMessage {
  const content = text === "" ? [] : [{ type: "text" as const, text }];
  return { role: "toolResult", toolCallId, toolName, content, isError: false, timestamp };
}

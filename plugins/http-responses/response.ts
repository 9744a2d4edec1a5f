/** The response object, for each of its states. Pure. Spec: http/responses.md §6. */
import { spokenText } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import type { ToolCallBlock, Usage } from "@svc/sdk/models";
import type { ResponsesRequest } from "./request.ts";

/** A response object; its fields are those of the public API. */
export type ResponseObject = Readonly<Record<string, unknown>> & { readonly id: string; readonly status: string };

export interface OutputMessage {
  readonly type: "message";
  readonly id: string;
  readonly role: "assistant";
  readonly status: "in_progress" | "completed" | "incomplete";
  readonly content: readonly object[];
}
export interface OutputCall {
  readonly type: "function_call";
  readonly id: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly status: "in_progress" | "completed";
}

/** Final state of a response. */
export interface Ending {
  readonly type: "response.completed" | "response.incomplete" | "response.failed";
  /** Text of the message; empty: the response has no message. */
  readonly text: string;
  readonly calls: readonly OutputCall[];
  readonly response: ResponseObject;
}

/** Fields that are the same in all states. */
export type ResponseBase = Readonly<Record<string, unknown>> & { readonly id: string };

/** Text of a successful run without an answer. Spec: §6. */
const NOTHING_SAID = "No response from svc.";

/** @param uuid of the response. @param now epoch ms */
export function responseBase(
  uuid: string,
  { body, tools, choice, format }: ResponsesRequest,
  now: number,
): ResponseBase {
  const effort = (body.reasoning as { effort?: string } | undefined)?.effort ?? null; // validated before
  return {
    id: `resp_${uuid}`,
    object: "response",
    created_at: Math.floor(now / 1_000),
    background: false,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: body.model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? null,
    text: { format },
    tool_choice: typeof choice === "string" ? choice : { type: "function", name: choice.name },
    tools: tools.map((tool) => ({ type: "function", strict: null, ...tool })),
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? "disabled",
    ...(body.user === undefined ? {} : { user: body.user }),
  };
}

/** The response before its end. */
export function openResponse(base: ResponseBase): ResponseObject {
  return { ...base, status: "in_progress", error: null, incomplete_details: null, output: [], usage: usageOf() };
}

/** The response at the end of the run. Choice: a run that waits for the caller's tools is `completed`, as in the public API. */
export function endingOf(base: ResponseBase, outcome: RunOutcome): Ending {
  const usage = usageOf(outcome.usage);
  const rest = { error: null, incomplete_details: null, usage };
  if (outcome.status !== "ok") {
    const error = { code: "server_error", message: whyFailed(outcome) };
    const response = { ...base, ...rest, status: "failed", error, output: [] };
    return { type: "response.failed", text: outcome.text, calls: [], response };
  }
  const uuid = base.id.slice("resp_".length);
  const calls = (outcome.pendingCalls ?? []).map((call, index) => outputCall(uuid, call, index));
  const isCut = outcome.stopReason === "length";
  const text = spokenText(outcome.text) || (calls.length > 0 || isCut ? "" : NOTHING_SAID);
  const status = isCut ? "incomplete" : "completed";
  const output = [...(text === "" ? [] : [outputMessage(uuid, text, status)]), ...calls];
  const details = isCut ? { incomplete_details: { reason: "max_output_tokens" } } : {};
  return { type: `response.${status}`, text, calls, response: { ...base, ...rest, ...details, status, output } };
}

/** @param uuid of the response */
export function messageId(uuid: string): string {
  return `msg_${uuid}`;
}

export function outputMessage(uuid: string, text: string, status: "completed" | "incomplete"): OutputMessage {
  return { type: "message", id: messageId(uuid), role: "assistant", status, content: [textPart(text)] };
}

export function textPart(text: string): object {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function outputCall(uuid: string, { id, name, arguments: args }: ToolCallBlock, index: number): OutputCall {
  const fields = { call_id: id, name, arguments: JSON.stringify(args) };
  return { type: "function_call", id: `fc_${uuid}_${index}`, ...fields, status: "completed" };
}

/**
 * The usage; zeros if none was reported. Choice: cached tokens count as input tokens, as in the public API. Spec: §6.
 */
function usageOf(usage?: Usage): object {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, totalTokens = 0 } = usage ?? {};
  const asked = count(input) + count(cacheRead) + count(cacheWrite);
  return {
    input_tokens: asked,
    input_tokens_details: { cached_tokens: count(cacheRead), cache_write_tokens: count(cacheWrite) },
    output_tokens: count(output),
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: count(totalTokens) || asked + count(output),
  };
}

const count = (tokens: number): number => Math.max(0, tokens);

const STOPPED: Readonly<Record<string, string>> = {
  timeout: "the run exceeded its time limit",
  restart: "the gateway stopped before the run ended",
};

function whyFailed({ errorMessage, abortReason }: RunOutcome): string {
  return errorMessage ?? STOPPED[abortReason ?? ""] ?? "the run was stopped";
}

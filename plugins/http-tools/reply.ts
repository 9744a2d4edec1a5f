/**
 * Responses of `/tools/invoke`. Pure. Existing scripts read two error formats: `{error:{message,type}}` until the tool is
 * known, `{ok:false,error:{type,message}}` afterwards. Spec: http/tools-invoke.md §4.
 */
import { ERRORS, type GatewayError, type RouteReply } from "@svc/sdk";
import type { ToolAttempt, ToolResult } from "@svc/sdk/tools";

const JSON_TEXT = { "Content-Type": "application/json; charset=utf-8" } as const;

/** The response for an unknown tool and for a denied tool: a client cannot tell the two apart. */
export function notAvailable(tool: string): RouteReply {
  return toolError(404, "not_found", `Tool not available: ${tool}`);
}

/** The response for a failed tool. It contains no details; the log has them. */
export const FAILED: RouteReply = toolError(500, "tool_error", "tool execution failed");

export const UNSUPPORTED: RouteReply = {
  status: 415,
  body: { error: { message: "the body must be JSON; send it as application/json", type: "invalid_request_error" } },
};

export interface Asked {
  readonly tool: string;
  readonly agentId: string;
  readonly sessionKey: string;
}

/** @throws TypeError the result cannot be serialized as JSON */
export function replyTo(attempt: ToolAttempt, { tool, agentId, sessionKey }: Asked): RouteReply {
  switch (attempt.outcome) {
    case "done":
      return sent({ ok: true, result: resultOf(attempt.result) });
    case "checked":
      return sent({ ok: true, dryRun: true, result: { tool, args: attempt.arguments, agentId, sessionKey } });
    case "unknown":
      return notAvailable(tool);
    case "refused":
      return refused(attempt.error);
    default:
      return FAILED;
  }
}

/** Serializes the result immediately, so that a result that is no JSON counts as a failure of the tool. */
function sent(body: object): RouteReply {
  return { headers: JSON_TEXT, body: JSON.stringify(body) };
}

/** Choice: a tool's refusal keeps the status of its code (`UNAVAILABLE` 503, `CONFLICT` 409 ...); an internal error discloses nothing. */
function refused({ code, message, retryAfterMs }: GatewayError): RouteReply {
  if (code === "INTERNAL") return FAILED;
  const reply = toolError(ERRORS[code].http, "tool_error", message);
  if (retryAfterMs === undefined) return reply;
  return { ...reply, headers: { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) } };
}

function toolError(status: number, type: string, message: string): RouteReply {
  return { status, body: { ok: false, error: { type, message } } };
}

/** Removes `origin`: the HTTP contract does not have it, only agents use it. */
function resultOf({ origin: _origin, ...result }: ToolResult): Omit<ToolResult, "origin"> {
  return result;
}

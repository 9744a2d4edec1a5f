/** The `Tool` extension point: what agents can do beside talking. */
import type { Principal, Scope } from "../principal.ts";
import type { Static, TSchema } from "../schema.ts";
import { defineExtensionPoint } from "../service.ts";
import type { ImageBlock, TextBlock } from "./messages.ts";

/** A tool call on its way. */
export interface ToolCall {
  readonly name: string;
  readonly toolCallId: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
}

/** The arguments of a call as a model wrote them: JSON, or nothing for `{}`. `undefined`: it is no object. */
export function parseToolArguments(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json.trim() || "{}");
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined; // just checked
  } catch {
    return undefined;
  }
}

/** What a tool tells the model. */
export interface ToolResult {
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly isError?: boolean;
}

/** A tool. Make one with `defineTool`, contribute it with `gateway.extend(Tool, name, tool)`. */
export interface Tool<P extends TSchema = TSchema> {
  readonly description: string;
  /** Arguments; validated before `run`. */
  readonly params: P;
  /** Scope the run's principal must hold. */
  readonly scope: Scope;
  /** @param context.signal aborts with the run. @throws anything: the model is told the message of a `GatewayError`, else that it failed. */
  run(
    params: Static<P>,
    context: { readonly call: ToolCall; readonly principal: Principal; readonly signal: AbortSignal },
  ): ToolResult | string | Promise<ToolResult | string>;
}

/** Ties the type of `params` to `run`. */
export function defineTool<P extends TSchema>(tool: Tool<P>): Tool {
  return tool as unknown as Tool; // the owner validates arguments against `params` before it calls `run`
}

/** Tools. Owner for now: the plugin `agents`. */
export const Tool = defineExtensionPoint<Tool>("tool");

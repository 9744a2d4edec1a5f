/** Hooks emitted by the owner of tools. */
import { denies, kept } from "../hook-facts.ts";
import { defineKeyedHook } from "../hooks.ts";
import type { ToolCall, ToolResult } from "./service.ts";

/** Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const toolHooks = {
  toolParams: defineKeyedHook<ToolCall>()("waterfall", {
    name: "toolParams",
    owner: "tools",
    when: "Per tool: a call was requested; its arguments are not validated yet.",
    returns: "The call with replacement arguments.",
    throws: kept,
  }),
  toolBefore: defineKeyedHook<ToolCall>()("gate", {
    name: "toolBefore",
    owner: "tools",
    when: "Per tool: the arguments are validated, final and frozen.",
    returns: "A denial: the caller receives the reason. Alternatively, a question for an approver.",
    throws: denies,
    asks: true,
  }),
  toolResult: defineKeyedHook<ToolResult & { call: ToolCall }>()("waterfall", {
    name: "toolResult",
    owner: "tools",
    when: "Per tool: it returned a result that the caller has not received yet.",
    returns: "A replacement result.",
    throws: kept,
  }),
} as const;

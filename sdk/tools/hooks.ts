/** Hooks that the owner of tools emits. */
import { denies, kept } from "../hook-facts.ts";
import { defineKeyedHook } from "../hooks.ts";
import type { ToolCall, ToolResult } from "./service.ts";

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
export const toolHooks = {
  toolParams: defineKeyedHook<ToolCall>()("waterfall", {
    name: "toolParams",
    owner: "tools",
    when: "By tool: it is asked for, before its arguments are validated.",
    returns: "The call with other arguments.",
    throws: kept,
  }),
  toolBefore: defineKeyedHook<ToolCall>()("gate", {
    name: "toolBefore",
    owner: "tools",
    when: "By tool: the arguments are final and frozen.",
    returns: "A denial: who asked is told the reason. Or a question for people.",
    throws: denies,
    asks: true,
  }),
  toolResult: defineKeyedHook<ToolResult & { call: ToolCall }>()("waterfall", {
    name: "toolResult",
    owner: "tools",
    when: "By tool: it answered, before whoever asked sees it.",
    returns: "Another result.",
    throws: kept,
  }),
} as const;

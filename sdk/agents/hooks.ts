/** Hooks that the owner of agents emits. */
import { denies, kept, never, recorded } from "../hook-facts.ts";
import { defineHook } from "../hooks.ts";
import type { OutsideWords } from "../tools/service.ts";
import type { RunEvent, RunOutcome, RunRequest } from "./service.ts";

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
export const agentHooks = {
  runBefore: defineHook<RunRequest>()("gate", {
    name: "runBefore",
    owner: "agents",
    when: "A run is asked for, before it is accepted.",
    returns: "A denial: the caller gets UNAVAILABLE. Or a question for people.",
    throws: denies,
    asks: true,
  }),
  runPrompt: defineHook<{
    runId: string;
    sessionKey: string;
    system: string;
    /** Words of others than the owner that were added to it. */
    outside?: readonly OutsideWords[];
  }>()("waterfall", {
    name: "runPrompt",
    owner: "agents",
    when: "The system prompt of a run was put together.",
    returns: "The prompt to use, and in `outside` the words of others than the owner that it holds.",
    throws: kept,
  }),
  runEvent: defineHook<RunEvent>()("trace", {
    name: "runEvent",
    owner: "agents",
    when: "A run makes progress: each text piece, tool step and lifecycle step.",
    returns: never,
    throws: "Recorded; the third throw removes the tap.",
  }),
  runFinished: defineHook<RunOutcome>()("observe", {
    name: "runFinished",
    owner: "agents",
    when: "A run ended, whatever way.",
    returns: never,
    throws: recorded,
  }),
} as const;

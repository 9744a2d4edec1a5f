/** Hooks emitted by the owner of agents. */
import { denies, kept, never, recorded } from "../hook-facts.ts";
import { defineHook } from "../hooks.ts";
import type { OutsideWords } from "../tools/service.ts";
import type { RunEvent, RunOutcome, RunRequest } from "./service.ts";

/** Skills listed in a prompt, for the session entry. Spec: protocol/stores.md §1 `skillsSnapshot`, `systemPromptReport`. */
export interface PromptSkills {
  /** The part of the prompt that lists them. */
  readonly prompt: string;
  readonly skills: readonly {
    readonly name: string;
    readonly primaryEnv?: string;
    readonly requiredEnv?: readonly string[];
    /** Characters of its part of the prompt. */
    readonly chars: number;
  }[];
}

/** Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const agentHooks = {
  runBefore: defineHook<RunRequest>()("gate", {
    name: "runBefore",
    owner: "agents",
    when: "A run was requested and is not accepted yet.",
    returns: "A denial: the caller receives UNAVAILABLE. Alternatively, a question for an approver.",
    throws: denies,
    asks: true,
  }),
  runPrompt: defineHook<{
    runId: string;
    sessionKey: string;
    system: string;
    /** Names of the tools that the first model of the run may call. */
    tools: readonly string[];
    /** External content that was added to the prompt. */
    outside?: readonly OutsideWords[];
    /** Skills that were added to the prompt. */
    skills?: PromptSkills;
  }>()("waterfall", {
    name: "runPrompt",
    owner: "agents",
    when: "The system prompt of a run was assembled.",
    returns: "The prompt to use; `outside` lists the external content it contains.",
    throws: kept,
  }),
  runEvent: defineHook<RunEvent>()("trace", {
    name: "runEvent",
    owner: "agents",
    when: "A run makes progress: every text chunk, tool step and lifecycle step.",
    returns: never,
    throws: "Recorded; the third throw removes the handler.",
  }),
  runFinished: defineHook<RunOutcome>()("observe", {
    name: "runFinished",
    owner: "agents",
    when: "A run ended: finished, failed or aborted.",
    returns: never,
    throws: recorded,
  }),
} as const;

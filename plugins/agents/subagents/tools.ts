/** The tools `sessions_spawn` and `subagents`: an agent starts, lists and stops sub-agents. */
import { coversScope, invalidRequest, NonEmpty, Strict, Type } from "@svc/sdk";
import { parseThinkingLevel, THINKING_LEVELS, type ThinkingLevel } from "@svc/sdk/models";
import { defineTool, type Tool } from "@svc/sdk/tools";
import { STOPPED_BY_TOOL, STOPPED_WITH_PARENT } from "./settings.ts";
import type { Subagents } from "./subagents.ts";
import type { Subrun } from "./store.ts";

/** Choice: maximum number of sub-runs that `subagents` lists. */
const LISTED = 20;

export interface SubagentToolSources {
  readonly subagents: Pick<Subagents, "spawn" | "open" | "latest">;
  /** Stops a run and its sub-runs. */
  readonly abort: (runId: string, reason: string) => boolean;
}

/** By name. */
export function createSubagentTools({ subagents, abort }: SubagentToolSources): Readonly<Record<string, Tool>> {
  return {
    sessions_spawn: defineTool({
      description:
        "Gives a task to a sub-agent, which works on it in its own session while you continue. Returns at once; the " +
        "result reaches you later as a message. The sub-agent knows nothing of this conversation: put all it needs into the task.",
      scope: "operator.write",
      // The run it starts inherits the origin of this run's text, and gets no more authority.
      effects: ["spends"],
      brings: "none",
      params: Strict({
        task: Type.String({ minLength: 1, description: "what to do, complete in itself" }),
        label: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: "short name of the task" })),
        agentId: Type.Optional(NonEmpty),
        model: Type.Optional(Type.String({ minLength: 1, description: "model to use instead of the usual one" })),
        thinking: Type.Optional(Type.String({ description: THINKING_LEVELS.join(", ") })),
        runTimeoutSeconds: Type.Optional(Type.Integer({ minimum: 0, description: "0: no limit of its own" })),
      }),
      async run({ thinking, ...wish }, { call, principal, signal, outside }) {
        const level = thinking === undefined ? {} : { thinking: thinkingLevel(thinking) };
        const { runId, sessionKey, agentId } = call;
        const parent = { runId, sessionKey, agentId, principal, ...(outside && { origin: outside.origin }) };
        const spawned = await subagents.spawn({ ...wish, ...level }, parent);
        if (signal.aborted) abort(spawned.runId, STOPPED_WITH_PARENT); // the parent was stopped while the sub-run was being accepted
        return JSON.stringify({
          status: "accepted",
          ...spawned,
          note: "The result arrives as a message when it is done; do not wait or poll for it.",
        });
      },
    }),
    subagents: defineTool({
      description: "Lists the sub-agents of this session, or stops one or all of them.",
      scope: "operator.read",
      effects: ["writes-workspace"],
      brings: "none",
      params: Strict({
        action: Type.Union([Type.Literal("list"), Type.Literal("stop")]),
        target: Type.Optional(Type.String({ minLength: 1, description: "for stop: a runId, a label or `all`" })),
      }),
      async run({ action, target }, { call, principal }) {
        if (action === "list") {
          const latest = await subagents.latest(call.sessionKey, LISTED);
          return JSON.stringify({ subagents: latest.map(row) });
        }
        if (!coversScope(principal.scopes, "operator.write"))
          invalidRequest("this run may not stop sub-agents: it has no write access");
        if (target === undefined) invalidRequest("say which one to stop: a runId, a label or `all`");
        const open = await subagents.open(call.sessionKey);
        const chosen = open.filter(({ runId, label }) => target === "all" || runId === target || label === target);
        const stopped = chosen.filter(({ runId }) => abort(runId, STOPPED_BY_TOOL)).map(({ runId }) => runId);
        return JSON.stringify({ stopped });
      },
    }),
  };
}

function row({ runId, sessionKey, label, status, createdAt, startedAt, endedAt }: Subrun) {
  return { runId, sessionKey, label, status, createdAt, startedAt, endedAt };
}

function thinkingLevel(word: string): ThinkingLevel {
  return (
    parseThinkingLevel(word) ?? invalidRequest(`no thinking level "${word}"; levels: ${THINKING_LEVELS.join(", ")}`)
  );
}

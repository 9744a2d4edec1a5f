/** The tools `sessions_send` and `agents_list`: an agent sends messages to other sessions, and lists the agents it may start. */
import { invalidRequest, Strict, Type } from "@svc/sdk";
import { defineTool, type Tool } from "@svc/sdk/tools";
import type { ConfiguredAgents } from "../directory/directory.ts";
import { sendToSession, type SendingSources } from "./sending.ts";
import { subagentSettings } from "./settings.ts";

/** Choice: default and maximum of the seconds a sender waits. */
const DEFAULT_WAIT_S = 60;
const MAX_WAIT_S = 3_600;
/** Choice: maximum number of characters of one message. */
const MAX_CHARS = 100_000;

export interface SessionToolSources extends Omit<SendingSources, "agents"> {
  readonly agents: Pick<ConfiguredAgents, "has" | "list" | "config">;
}

/** By name. */
export function createSessionTools(sources: SessionToolSources): Readonly<Record<string, Tool>> {
  return { sessions_send: sessionsSend(sources), agents_list: agentsList(sources.agents) };
}

function sessionsSend(sources: SessionToolSources): Tool {
  return defineTool({
    description:
      "Sends a message to another session, whose agent works on it, and waits for the reply. If it takes longer, the work " +
      "continues, and sessions_history shows the outcome.",
    scope: "operator.write",
    // The run it starts inherits the origin of this run's text, and gets no more authority.
    effects: ["spends"],
    brings: "none",
    params: Strict({
      sessionKey: Type.Optional(Type.String({ description: "session key, as in sessions_list" })),
      label: Type.Optional(Type.String({ description: "label of the session, instead of its key" })),
      message: Type.Optional(Type.String({ maxLength: MAX_CHARS, description: "text to send" })),
      timeoutSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: MAX_WAIT_S,
          description: `seconds to wait for the reply; 0: do not wait; default ${DEFAULT_WAIT_S}`,
        }),
      ),
    }),
    async run({ message = "", timeoutSeconds = DEFAULT_WAIT_S, ...to }, { call, principal, signal, outside }) {
      if (message.trim() === "") return invalidRequest("message required");
      const { runId, sessionKey, agentId } = call;
      const from = { runId, sessionKey, agentId, principal, signal, origin: outside?.origin };
      const { origin, ...details } = await sendToSession(to, message, timeoutSeconds * 1_000, from, sources);
      const isError = details.status === "error" || details.status === "aborted";
      const whose = origin === undefined ? {} : { origin };
      return {
        content: [{ type: "text", text: JSON.stringify(details) }],
        details,
        ...whose,
        ...(isError ? { isError } : {}),
      };
    },
  });
}

function agentsList(agents: SessionToolSources["agents"]): Tool {
  return defineTool({
    description: "Lists the agents that you may start as sub-agents with sessions_spawn.",
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "none",
    params: Strict({}),
    run(_params, { call: { agentId: requester } }) {
      const { mayStart } = subagentSettings(agents.config, requester);
      const startable = agents.list().filter(({ id }) => mayStart(id));
      const rows = startable.map(({ id, name, identity, isDefault }) => {
        const shownName = name ?? identity?.name;
        return { id, ...(shownName === undefined ? {} : { name: shownName }), isDefault };
      });
      const text = rows.map(({ id, name }) => `- ${id}${name === undefined ? "" : ` "${name}"`}`).join("\n");
      return {
        content: [{ type: "text", text: text === "" ? "No agents." : text }],
        details: { requester, count: rows.length, agents: rows },
      };
    },
  });
}

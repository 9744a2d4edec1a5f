/** Handlers of `doctor.memory.status` and `memory.*`. */
import { type Handlers, isGatewayError, notFound, type Static } from "@svc/sdk";
import type { memory, MemorySync } from "@svc/sdk/memory";
import type { AgentIndexes } from "./agent-indexes.ts";
import { createNoteHandlers, type NoteSources } from "./notes.ts";
import type { StatusOf } from "./status.ts";
import { detailsOf } from "./tools.ts";

/** Id of the default agent while the agent directory is not running. */
const USUAL_ID = "main";

export function createHandlers(
  indexes: AgentIndexes,
  statusOf: StatusOf,
  notes: Omit<NoteSources, "indexes" | "meant">,
): Handlers<typeof memory> {
  function meant(agentId: string): string {
    const id = agentId.toLowerCase();
    if (!indexes.agentIds().includes(id)) notFound(`there is no agent "${agentId}"; see \`svc agents list\``);
    return id;
  }
  const defaultId = () => indexes.agentIds()[0] ?? USUAL_ID;

  async function sync(agentId: string, force: boolean, signal: AbortSignal): Promise<Static<typeof MemorySync>> {
    const { directories: _directories, leftOut, ...report } = await indexes.sync(agentId, { force, signal });
    return { agentId, ...report, leftOut: [...leftOut] };
  }

  return {
    ...createNoteHandlers({ ...notes, indexes, meant: (id) => (id === undefined ? defaultId() : meant(id)) }),
    // Never an error. Spec: methods-memory.md.
    doctor: ({ signal }) => statusOf(idOrUsual(defaultId), signal),
    async status({ params, signal }) {
      const ids = params.agentId === undefined ? indexes.agentIds() : [meant(params.agentId)];
      const agents = [];
      for (const id of ids) agents.push(await statusOf(id, signal));
      return { agents };
    },
    async search({ params, signal }) {
      const { query: text, maxResults, minScore, agentId } = params;
      const id = agentId === undefined ? defaultId() : meant(agentId);
      return { agentId: id, ...detailsOf(await indexes.search(id, { text, maxResults, minScore }, signal)) };
    },
    async index({ params, signal }) {
      const { agentId, force = false } = params;
      const all =
        agentId === undefined ? indexes.agentIds().filter((id) => indexes.settings(id).enabled) : [meant(agentId)];
      const agents = [];
      for (const id of all) agents.push(await sync(id, force, signal));
      return { agents };
    },
  };
}

function idOrUsual(defaultId: () => string): string {
  try {
    return defaultId();
  } catch (error) {
    if (isGatewayError(error)) return USUAL_ID;
    throw error;
  }
}

/** Part of the guided setup: the workspace of the default agent. It asks nothing, since the default is usually right. */
import { realpath } from "node:fs/promises";
import { messageOf } from "@svc/sdk";
import type { SetupPart, SetupStep } from "@svc/sdk/wizard";
import type { ConfiguredAgents } from "./directory.ts";
import { callersPath, type Places, workspaceObstacle } from "./workspace.ts";

export interface WorkspacePartSources {
  readonly agents: ConfiguredAgents;
  readonly places: () => Places;
}

export function createWorkspacePart({ agents, places }: WorkspacePartSources): Pick<SetupPart, "start" | "next"> {
  /** @throws GatewayError `INVALID_REQUEST`: the directory cannot be a workspace */
  async function set(path: string): Promise<SetupStep> {
    const { stateDir } = places();
    const wanted = callersPath(path, places());
    const { defaultId } = agents;
    const real = await realpath(wanted).catch(() => wanted); // it may not exist yet
    const others = agents.list().filter(({ id }) => id !== defaultId);
    const obstacle = workspaceObstacle(real, await realpath(stateDir), others);
    if (obstacle !== undefined) return askPath(`${obstacle}.`, wanted);
    return { done: true, message: `Workspace: ${wanted}`, config: { agents: { defaults: { workspace: wanted } } } };
  }

  function askPath(why: string, initial: string): SetupStep {
    return { ask: { kind: "text", message: `${why}\n\nDirectory for the files of the agent:`, initial } };
  }

  const orAsk = async (path: string) => set(path).catch((error: unknown) => askPath(messageOf(error), path));
  return {
    async start({ workspace }) {
      const current = agents.settings(agents.defaultId).workspace;
      return workspace === undefined ? { done: true, message: `Workspace: ${current}` } : orAsk(workspace);
    },
    async next({ answer }) {
      return orAsk(String(answer ?? "").trim());
    },
  };
}

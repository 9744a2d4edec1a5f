/** Handlers of `agents.files.log`, `agents.files.diff` and `agents.files.restore`. */
import { type Handlers, notFound } from "@svc/sdk";
import type { agents, IdentityFile } from "@svc/sdk/agents";
import { type ConfiguredAgents, findAgent } from "../directory/directory.ts";
import { allowedName, readFile } from "../directory/workspace-files.ts";
import { unifiedDiff } from "./diff.ts";
import type { VersionStore } from "./store.ts";
import type { IdentityVersions } from "./versions.ts";

/** Choice: versions that `agents.files.log` lists by default. */
const LISTED = 100;

export interface VersionHandlerSources {
  readonly agents: ConfiguredAgents;
  readonly store: VersionStore;
  readonly versions: IdentityVersions;
  /** To be called before workspace files are read. */
  readonly pull: (agentId: string) => Promise<void>;
  /** To be called after a workspace file was written. */
  readonly written: (agentId: string) => Promise<void>;
}

type VersionHandlers = Pick<Handlers<typeof agents>, "filesLog" | "filesDiff" | "filesRestore">;

export function createVersionHandlers(sources: VersionHandlerSources): VersionHandlers {
  const { agents, store, versions, pull, written } = sources;
  const agentOf = async (agentId: string | undefined) => {
    const agent = findAgent(agentId ?? agents.defaultId, agents);
    await pull(agent.id);
    return agent;
  };

  async function text(agentId: string, name: IdentityFile, version: number): Promise<string> {
    const bytes = version === 0 ? undefined : await store.content(agentId, name, version);
    return Buffer.from(bytes ?? []).toString("utf8");
  }

  return {
    async filesLog({ params: { agentId: given, name, limit = LISTED } }) {
      const { id: agentId } = await agentOf(given);
      const file = name === undefined ? undefined : allowedName(name);
      await versions.notice(agentId);
      return { agentId, versions: await store.list(agentId, file, limit) };
    },

    async filesDiff({ params }) {
      const { id: agentId } = await agentOf(params.agentId);
      const name = allowedName(params.name);
      await versions.notice(agentId);
      const numbers = await store.numbers(agentId, name);
      const to = params.to ?? numbers.at(-1) ?? notFound(`${name} has no versions: the file never existed`);
      const from = params.from ?? numbers.findLast((version) => version < to) ?? 0;
      const side = async (version: number) => ({
        label: `${name} (version ${version})`,
        text: await text(agentId, name, version),
      });
      return { agentId, name, from, to, diff: unifiedDiff(await side(from), await side(to)) };
    },

    async filesRestore({ params: { agentId: given, name, version: wanted }, principal }) {
      const { id: agentId, workspace } = await agentOf(given);
      const file = allowedName(name);
      const author = { how: "agents.files.restore", principal: { id: principal.id, provenance: principal.provenance } };
      const version = await versions.restore(agentId, file, wanted, author);
      await written(agentId);
      return { ok: true as const, agentId, workspace, version, file: await readFile(workspace, file) };
    },
  };
}

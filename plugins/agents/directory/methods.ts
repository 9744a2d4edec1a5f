/** Handlers of `agent.identity.get` and `agents.*`, except those of file versions. */
import { readdir } from "node:fs/promises";
import { normalizeId } from "@svc/kit/agent-address";
import { type Handlers, invalidRequest, isGatewayError } from "@svc/sdk";
import type { agents, IdentityFiles } from "@svc/sdk/agents";
import { type Models, type ResolvedModel, type ThinkingLevel, thinkingLevelsOf } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { AgentAdmin } from "./admin.ts";
import { avatarUrl } from "./avatar.ts";
import { type AgentSettings, type ConfiguredAgents, findAgent } from "./directory.ts";
import { fileIdentity, presentAgent } from "./identities.ts";
import { mergeIdentity } from "./identity.ts";
import { agentHome, type Places } from "./workspace.ts";
import { listFiles, readFile, writeFile } from "./workspace-files.ts";

/** Choice: total characters of all images in one list; the remaining agents are listed without an image. */
const MAX_LIST_IMAGES = 4 * 1024 * 1024;

export interface DirectorySources {
  readonly services: {
    readonly sessions: Pick<Sessions, "defaults" | "canonicalKey" | "agentOf">;
    readonly models: Pick<Models, "resolve">;
  };
  readonly agents: ConfiguredAgents;
  readonly admin: AgentAdmin;
  readonly places: () => Places;
  readonly identityFiles: IdentityFiles;
  /** Current base path of the control panel. */
  readonly panelBase: () => string;
  /** To be called before workspace files are read. */
  readonly pull: (agentId: string) => Promise<void>;
  /** To be called after a workspace file was written. */
  readonly written: (agentId: string) => Promise<void>;
}

type DirectoryHandlers = Omit<
  Handlers<typeof agents>,
  "run" | "wait" | "promptPreview" | "filesLog" | "filesDiff" | "filesRestore"
>;

export function createDirectoryHandlers(sources: DirectorySources): DirectoryHandlers {
  const { services, agents, admin, identityFiles, places, panelBase, pull, written } = sources;
  const { sessions, models } = services;

  return {
    async list() {
      const { mainKey, scope } = sessions.defaults();
      let budget = MAX_LIST_IMAGES;
      const rows = [];
      for (const agent of [...agents.list(), ...(await unlisted(agents, places()))]) {
        const identity = mergeIdentity(agent.identity, await fileIdentity(agent.workspace));
        const url = await avatarUrl(agent.workspace, identity.avatar);
        const isShown = url !== undefined && url.length <= budget;
        if (isShown) budget -= url.length;
        const shown = { ...identity, ...(isShown ? { avatarUrl: url } : {}) };
        rows.push({
          id: agent.id,
          kind: "agent" as const,
          ...(agent.name === undefined ? {} : { name: agent.name }),
          ...(Object.keys(shown).length === 0 ? {} : { identity: shown }),
          workspace: agent.workspace,
          ...startingModel(agent, models, agents.config.defaults.thinkingDefault),
        });
      }
      return { defaultId: agents.defaultId, mainKey, scope, agents: rows };
    },

    async identity({ params }) {
      return presentAgent(addressed(params, sessions, agents), panelBase());
    },

    create: async ({ params, principal }) => ({ ok: true as const, ...(await admin.create(params, principal)) }),

    async update({ params: { agentId, ...change }, principal }) {
      return { ok: true as const, agentId: await admin.update(agentId, change, principal) };
    },

    async delete({ params: { agentId, deleteFiles = true }, principal }) {
      const { kept, ...deleted } = await admin.delete(agentId, deleteFiles, principal);
      return { ok: true as const, ...deleted, ...(kept.length === 0 ? {} : { kept }) };
    },

    async filesList({ params }) {
      const { id: agentId, workspace } = findAgent(params.agentId, agents);
      await pull(agentId);
      return { agentId, workspace, files: await listFiles(workspace) };
    },

    async filesGet({ params: { agentId: text, name } }) {
      const { id: agentId, workspace } = findAgent(text, agents);
      await pull(agentId);
      return { agentId, workspace, file: await readFile(workspace, name) };
    },

    async filesSet({ params: { agentId: text, name, content, baseHash }, principal }) {
      const { id: agentId, workspace } = findAgent(text, agents);
      await pull(agentId);
      const change = { agentId, paths: [name], how: "agents.files.set", principal };
      const file = await identityFiles.change(change, () =>
        writeFile(workspace, name, content, { ...agents.config.defaults, baseHash }),
      );
      await written(agentId);
      return { ok: true as const, agentId, workspace, file };
    },
  };
}

/** The model and thinking level that a new conversation starts with; empty: no model can be used. */
function startingModel(agent: AgentSettings, models: Pick<Models, "resolve">, level: ThinkingLevel | undefined) {
  const refs = agent.models.length > 0 ? agent.models : [undefined];
  const [first, ...others] = refs.flatMap((ref) => tryResolve(models, ref) ?? []);
  if (!first) return {};
  const thinkingLevels = thinkingLevelsOf(first);
  const isOffered = thinkingLevels.some(({ id }) => id === level);
  const nearest = level === "xhigh" && thinkingLevels.length > 1 ? "high" : "off";
  return {
    model: { primary: refOf(first), ...(others.length > 0 ? { fallbacks: others.map(refOf) } : {}) },
    thinkingLevels,
    ...(level === undefined ? {} : { thinkingDefault: isOffered ? level : nearest }),
  };
}

function tryResolve(models: Pick<Models, "resolve">, ref: string | undefined): ResolvedModel | undefined {
  try {
    return models.resolve(ref);
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

function refOf({ provider, id }: ResolvedModel): string {
  return `${provider}/${id}`;
}

/** The agent named by id or by one of its sessions; default: the default agent. @throws GatewayError */
function addressed(
  { agentId, sessionKey }: { readonly agentId?: string; readonly sessionKey?: string },
  sessions: DirectorySources["services"]["sessions"],
  agents: ConfiguredAgents,
): AgentSettings {
  const named = agentId === undefined ? undefined : findAgent(agentId, agents);
  if (!sessionKey?.trim()) return named ?? agents.settings(agents.defaultId);
  const key = sessions.canonicalKey(sessionKey);
  const owner = sessions.agentOf(key);
  if (named && named.id !== owner) {
    invalidRequest(`session ${key} belongs to agent "${owner}", not to "${named.id}"; leave out one of the two`);
  }
  return findAgent(owner, agents);
}

/** Agents without configuration that have a directory; empty when a list is configured. Spec: §4. */
async function unlisted(agents: ConfiguredAgents, places: Places): Promise<readonly AgentSettings[]> {
  if (agents.isConfigured) return [];
  const directory = agentHome("", places);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const ids = entries.filter((entry) => entry.isDirectory() && normalizeId(entry.name) === entry.name);
  return ids
    .map(({ name }) => name)
    .filter((id) => !agents.has(id))
    .toSorted()
    .map((id) => agents.settings(id));
}

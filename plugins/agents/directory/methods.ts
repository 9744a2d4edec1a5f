/** Handlers of `agent.identity.get` and `agents.*`, except those of file versions. */
import { readdir } from "node:fs/promises";
import { normalizeId } from "@svc/kit/agent-address";
import { diskRefusal, readWithin } from "@svc/kit/files";
import { type Handlers, invalidRequest, isGatewayError } from "@svc/sdk";
import type { agents, IdentityFiles } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { AgentAdmin } from "./admin.ts";
import { avatarUrl } from "./avatar.ts";
import { type AgentSettings, type ConfiguredAgents, findAgent, type Identity } from "./directory.ts";
import { avatarKind, mergeIdentity, parseIdentity, presentIdentity } from "./identity.ts";
import { agentHome, type Places } from "./workspace.ts";
import { listFiles, readFile, writeFile } from "./workspace-files.ts";

/** Choice: bytes of `IDENTITY.md` that are parsed. */
const IDENTITY_HEAD_BYTES = 64 * 1024;
/** Choice: total characters of all images in one list; the remaining agents are listed without an image. */
const MAX_LIST_IMAGES = 4 * 1024 * 1024;

export interface DirectorySources {
  readonly services: { readonly sessions: Pick<Sessions, "defaults" | "canonicalKey" | "agentOf"> };
  readonly agents: ConfiguredAgents;
  readonly admin: AgentAdmin;
  readonly places: () => Places;
  readonly identityFiles: IdentityFiles;
  /** To be called after a workspace file was written. */
  readonly written: () => void;
}

type DirectoryHandlers = Omit<Handlers<typeof agents>, "run" | "wait" | "filesLog" | "filesDiff" | "filesRestore">;

export function createDirectoryHandlers(sources: DirectorySources): DirectoryHandlers {
  const { services, agents, admin, identityFiles, places, written } = sources;
  const { sessions } = services;

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
          ...(agent.name === undefined ? {} : { name: agent.name }),
          ...(Object.keys(shown).length === 0 ? {} : { identity: shown }),
        });
      }
      return { defaultId: agents.defaultId, mainKey, scope, agents: rows };
    },

    async identity({ params }) {
      const agent = addressed(params, sessions, agents);
      const file = await fileIdentity(agent.workspace);
      const images = await showableImages(agent.workspace, [agent.identity?.avatar, file.avatar]);
      const { id: agentId, name, identity: configured } = agent;
      return presentIdentity({ agentId, name, configured, file, hasImage: (path) => images.has(path) });
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
      return { agentId, workspace, files: await listFiles(workspace) };
    },

    async filesGet({ params: { agentId: text, name } }) {
      const { id: agentId, workspace } = findAgent(text, agents);
      return { agentId, workspace, file: await readFile(workspace, name) };
    },

    async filesSet({ params: { agentId: text, name, content }, principal }) {
      const { id: agentId, workspace } = findAgent(text, agents);
      const change = { agentId, paths: [name], how: "agents.files.set", principal };
      const file = await identityFiles.change(change, () =>
        writeFile(workspace, name, content, agents.config.defaults),
      );
      written();
      return { ok: true as const, agentId, workspace, file };
    },
  };
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

/** Empty for a missing or unreadable file, so that the list of agents does not depend on it. */
async function fileIdentity(workspace: string): Promise<Identity> {
  try {
    const file = await readWithin(workspace, "IDENTITY.md", IDENTITY_HEAD_BYTES);
    return parseIdentity(file?.bytes.toString("utf8") ?? "");
  } catch (error) {
    if (isGatewayError(error) || diskRefusal(error, workspace, { permissions: "UNAVAILABLE" })) return {};
    throw error;
  }
}

async function showableImages(workspace: string, avatars: readonly (string | undefined)[]): Promise<Set<string>> {
  const paths = avatars.flatMap((avatar) =>
    avatar !== undefined && avatarKind(avatar.trim()) === "path" ? [avatar.trim()] : [],
  );
  const urls = await Promise.all(paths.map((path) => avatarUrl(workspace, path)));
  return new Set(paths.filter((_, index) => urls[index] !== undefined));
}

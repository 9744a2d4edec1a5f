/** Creating, changing and deleting agents: directories, the configuration file, the trash. Spec: protocol/methods-agent.md §5. */
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { normalizeId } from "@svc/kit/agent-address";
import { diskRefusal, readWithin, writeWithin } from "@svc/kit/files";
import { avatarKind, oneLine } from "@svc/kit/identity";
import { type Clock, GatewayError, invalidRequest, isGatewayError, type Logger, type Principal, Turns } from "@svc/sdk";
import type { IdentityChange, IdentityFiles } from "@svc/sdk/agents";
import type { ConfigStore } from "@svc/sdk/config";
import type { Models } from "@svc/sdk/models";
import { type AgentChange, createEdits, deleteEdits, updateEdits } from "./edits.ts";
import { type AgentSettings, type ConfiguredAgents, findAgent } from "./directory.ts";
import { parseIdentity, withIdentity } from "./identity.ts";
import { type Discarded, discard, realOrSame } from "./trash.ts";
import { agentHome, callersPath, type Places, workspaceObstacle } from "./workspace.ts";
import { makeDirectory, prepareWorkspace } from "./workspace-seed.ts";

/** Id of the built-in agent, which cannot be created or deleted. Spec: §5. */
const RESERVED = "main";

export interface AdminSources {
  readonly agents: ConfiguredAgents;
  readonly config: Pick<ConfigStore, "edit">;
  readonly models: Pick<Models, "resolve">;
  readonly places: () => Places;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
  /** Stops the agent's runs and archives its conversations. @returns sessions that could not be archived, with the reason */
  readonly archiveSessions: (agentId: string, principal: Principal) => Promise<readonly string[]>;
  readonly versions: AgentVersions;
  /** Ends the sharing of the agent's files. Never rejects. */
  readonly forgetFiles: (agentId: string) => Promise<void>;
}

/** Keeps the versions of identity files in step with the creation and deletion of agents. */
export interface AgentVersions extends IdentityFiles {
  /** Stores versions of the first files of a new agent, which may not be in the configuration yet. Never throws. */
  created(change: Omit<IdentityChange, "paths">, workspace: string): Promise<void>;
  /** Deletes the versions of an agent whose files are in the trash. @throws GatewayError `UNAVAILABLE` when storage cannot write */
  forget(agentId: string): Promise<void>;
}

export interface NewAgent {
  readonly name: string;
  readonly workspace: string;
  readonly emoji?: string;
  readonly avatar?: string;
}

/**
 * Makes changes one at a time, so that the creation and the deletion of the same id never overlap. The configuration
 * file has its own lock against other writers.
 */
export class AgentAdmin {
  readonly #sources: AdminSources;
  readonly #turns = new Turns();

  constructor(sources: AdminSources) {
    this.#sources = sources;
  }

  /** Creates the directories before it adds the agent to the configuration. @throws GatewayError `INVALID_REQUEST`, and as `ConfigStore.edit` */
  create(wanted: NewAgent, principal: Principal): Promise<{ agentId: string; name: string; workspace: string }> {
    return this.#turns.take("agents", async () => {
      const { agents, config, places } = this.#sources;
      const name = oneLine(wanted.name);
      const id = newId(name, agents);
      const avatar = acceptableAvatar(wanted.avatar);
      const workspace = await this.#acceptableWorkspace(wanted.workspace, id);
      const emoji = wanted.emoji === undefined ? "" : oneLine(wanted.emoji);
      const identity = { name, ...(emoji === "" ? {} : { emoji }), ...(avatar === undefined ? {} : { avatar }) };
      const home = agentHome(id, places());
      const sessions = join(home, "sessions");
      const entry = { id, name, workspace };
      try {
        await reach(workspace, async () => {
          const real = await prepareWorkspace(workspace, agents.config.defaults);
          await writeIdentity(real, identity);
          await makeDirectory(sessions);
        });
        await config.edit({ actor: principal.id, action: "agents.create" }, (parsed) => createEdits(parsed, entry));
      } catch (error) {
        // `rmdir` removes empty directories only. Left behind, they would be listed as an agent.
        await rmdir(sessions)
          .then(() => rmdir(home))
          .catch(() => undefined);
        throw error;
      }
      await this.#sources.versions.created({ agentId: id, how: "agents.create", principal }, workspace);
      return { agentId: id, name, workspace };
    });
  }

  /** Writes nothing when nothing changes. @throws GatewayError `NOT_FOUND`, `INVALID_REQUEST`, and as `ConfigStore.edit` */
  update(agentId: string, wanted: AgentChange, principal: Principal): Promise<string> {
    return this.#turns.take("agents", async () => {
      const { agents, config, models } = this.#sources;
      const before = findAgent(agentId, agents);
      const { id } = before;
      const name = wanted.name === undefined ? undefined : oneLine(wanted.name);
      if (name === "") invalidRequest("name: must have at least one visible character");
      const avatar = acceptableAvatar(wanted.avatar);
      if (wanted.model !== undefined) models.resolve(wanted.model);
      const workspace =
        wanted.workspace === undefined ? undefined : await this.#acceptableWorkspace(wanted.workspace, id);
      if (workspace !== undefined) await reach(workspace, () => prepareWorkspace(workspace, agents.config.defaults));
      const change: AgentChange = {
        ...(name === undefined ? {} : { name }),
        ...(workspace === undefined ? {} : { workspace }),
        ...(wanted.model === undefined ? {} : { model: wanted.model }),
        ...(avatar === undefined ? {} : { avatar }),
        ...(wanted.emoji === undefined ? {} : { emoji: oneLine(wanted.emoji) }),
        ...(wanted.theme === undefined ? {} : { theme: oneLine(wanted.theme) }),
      };
      await config.edit({ actor: principal.id, action: "agents.update" }, (parsed) => updateEdits(parsed, id, change));
      if (name !== undefined) await this.#renameInFile(before, name, principal);
      return id;
    });
  }

  /** Replaces the former configured name in `IDENTITY.md`; keeps a name that the agent gave itself. */
  async #renameInFile({ name: former, id }: AgentSettings, name: string, principal: Principal): Promise<void> {
    const { agents, log, versions } = this.#sources;
    const { workspace } = agents.settings(id);
    try {
      const file = await readWithin(workspace, "IDENTITY.md");
      const isFormer = former !== undefined && parseIdentity(file?.bytes.toString("utf8") ?? "").name === former;
      const change = { agentId: id, paths: ["IDENTITY.md"], how: "agents.update", principal };
      if (isFormer) await versions.change(change, () => writeIdentity(workspace, { name }));
    } catch (error) {
      log.warn({ err: error, agentId: id }, "IDENTITY.md could not be updated and still has the agent's former name");
    }
  }

  /**
   * Removes the agent from the configuration first, then archives its conversations and moves its files as far as possible.
   * @throws GatewayError `NOT_FOUND`, `INVALID_REQUEST` for `main`, and as `ConfigStore.edit`
   */
  delete(
    agentId: string,
    deleteFiles: boolean,
    principal: Principal,
  ): Promise<Discarded & { readonly agentId: string; readonly removedBindings: number }> {
    return this.#turns.take("agents", async () => {
      const { agents, config } = this.#sources;
      const agent = findAgent(agentId, agents);
      const { id } = agent;
      if (id === RESERVED) invalidRequest(`agent "${RESERVED}" cannot be deleted; change it with agents.update`);
      let removedBindings = 0;
      await config.edit({ actor: principal.id, action: "agents.delete" }, (parsed) => {
        const { edits, removedBindings: count } = deleteEdits(parsed, id);
        removedBindings = count;
        return edits;
      });
      await this.#sources.forgetFiles(id);
      const gone = deleteFiles ? await this.#discard(agent, principal) : { kept: [] };
      return { agentId: id, removedBindings, ...gone };
    });
  }

  async #discard({ id, workspace, agentDir }: AgentSettings, principal: Principal): Promise<Discarded> {
    const { agents, archiveSessions, clock, log, places, versions } = this.#sources;
    const left = await archiveSessions(id, principal);
    const others = agents.list().filter((agent) => agent.id !== id);
    const inUse = others.flatMap((agent) => [agent.workspace, agent.agentDir ?? "", agentHome(agent.id, places())]);
    const directories = { workspace, agent: agentHome(id, places()), ...(agentDir === undefined ? {} : { agentDir }) };
    const stamp = `${id}-${new Date(clock.now()).toISOString().replaceAll(":", "-")}`;
    const { kept, ...moved } = await discard(directories, inUse.filter(Boolean), stamp, places());
    await versions.forget(id).catch((error: unknown) => {
      log.warn(
        { err: error, agentId: id },
        "the versions of a deleted agent's identity files could not be deleted and stay in storage",
      );
    });
    const all = [...left, ...kept];
    if (all.length > 0)
      log.warn({ agentId: id, kept: all }, "an agent was deleted, but some of its conversations or files were kept");
    return { ...moved, kept: all };
  }

  /** @returns the absolute path @throws GatewayError `INVALID_REQUEST` */
  async #acceptableWorkspace(path: string, id: string): Promise<string> {
    const { agents, places } = this.#sources;
    const workspace = callersPath(path, places());
    const others = await Promise.all(
      agents
        .list()
        .filter((agent) => agent.id !== id)
        .map(async (agent) => ({ id: agent.id, workspace: await realOrSame(agent.workspace) })),
    );
    const stateDir = await realOrSame(places().stateDir);
    const obstacle = workspaceObstacle(await realOrSame(workspace), stateDir, others);
    if (obstacle !== undefined) invalidRequest(`workspace: ${obstacle}`);
    return workspace;
  }
}

/** @throws GatewayError `INVALID_REQUEST` for a name that yields no id, or an id that is already in use */
function newId(name: string, agents: ConfiguredAgents): string {
  if (!/[a-z0-9]/i.test(name)) {
    invalidRequest(
      `name: needs at least one letter a-z or digit to form an id, and "${name}" has none; choose another name`,
    );
  }
  const id = normalizeId(name);
  if (id === RESERVED) invalidRequest(`name: the id "${RESERVED}" is reserved; choose another name`);
  if (agents.has(id))
    invalidRequest(`agent "${id}" already exists; choose another name, or change it with agents.update`);
  return id;
}

/** @throws GatewayError `INVALID_REQUEST` for an avatar that could never be displayed */
function acceptableAvatar(avatar: string | undefined): string | undefined {
  if (avatar === undefined) return undefined;
  const line = oneLine(avatar);
  if (avatarKind(line) !== undefined) return line;
  return invalidRequest(
    "avatar: use an http(s) URL, a data URL of an image, the path of an image in the workspace, or up to 4 characters",
  );
}

async function writeIdentity(workspace: string, identity: Parameters<typeof withIdentity>[1]): Promise<void> {
  const former = await readWithin(workspace, "IDENTITY.md");
  const text = withIdentity(former?.bytes.toString("utf8") ?? "", identity);
  if (text !== undefined) await writeWithin(workspace, "IDENTITY.md", text);
}

/** Runs `work` on a directory chosen by a caller. @throws GatewayError `INVALID_REQUEST` when the file system refuses access, `UNAVAILABLE` when the disk is full */
async function reach<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isGatewayError(error)) throw error;
    const refusal = diskRefusal(error, `workspace ${path}`);
    if (refusal) throw refusal;
    const why = error instanceof Error && "code" in error ? String(error.code) : "it cannot be created";
    throw new GatewayError("INVALID_REQUEST", `workspace: ${path} cannot be used (${why}); choose another directory`, {
      cause: error,
    });
  }
}

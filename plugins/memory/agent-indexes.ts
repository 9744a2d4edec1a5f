/** The indexes of all agents, for tools, methods and the background sync: resolves settings and secrets, and calls the index thread. */
import { invalidRequest, isGatewayError, type Logger, notFound, unavailable } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Secrets } from "@svc/sdk/secrets";
import { existsSync } from "node:fs";
import { type Endpoint, findEndpoint, type NoEndpoint } from "./embedding/endpoint.ts";
import type { Figures, MemoryAnswer, SyncReport } from "./engine/protocol.ts";
import type { Thread } from "./engine/thread.ts";
import { locate, type Located } from "./files/memory-files.ts";
import type { AgentMemory } from "./index/agent-memory.ts";
import { type MemorySettings, settingsOf } from "./settings.ts";

export interface AgentIndexesOptions {
  readonly agents: () => Pick<AgentDirectory, "list" | "memorySearch" | "defaultId"> | undefined;
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  readonly thread: Pick<Thread, "ask">;
  /** Path of the index. */
  readonly file: () => string;
  readonly log: Pick<Logger, "warn">;
  /** Called after each use of an agent's memory, which starts its background sync. */
  readonly used?: (agentId: string) => void;
}

/** Parameters of a search; the agent's settings supply the rest. */
export interface Asked {
  readonly text: string;
  readonly maxResults?: number | undefined;
  readonly minScore?: number | undefined;
}

export interface AgentIndexes {
  /** All agents, the default one first. @throws GatewayError `UNAVAILABLE` while the plugin agents is not running */
  agentIds(): readonly string[];
  /** @throws GatewayError `NOT_FOUND` for an unknown agent */
  settings(agentId: string): MemorySettings;
  /** @throws GatewayError `INVALID_REQUEST` for a path outside this memory */
  locate(agentId: string, path: string): Located;
  /** @throws GatewayError `NOT_FOUND`, `UNAVAILABLE`; the signal's reason */
  search(agentId: string, asked: Asked, signal: AbortSignal): Promise<MemoryAnswer>;
  /** Concurrent callers share one sync, unless it is forced. */
  sync(agentId: string, options: { readonly force: boolean; readonly signal?: AbortSignal }): Promise<SyncReport>;
  /** Read-only; `undefined`: no index yet. */
  figures(agentId: string): Promise<Figures | undefined>;
  /** The embeddings server; `undefined`: not configured. */
  endpoint(agentId: string): Promise<Endpoint | NoEndpoint | undefined>;
  probe(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined>;
  /** The agents changed: the next use drops the indexes of removed agents. */
  agentsChanged(): void;
}

export function createAgentIndexes({ agents, secrets, thread, file, log, used }: AgentIndexesOptions): AgentIndexes {
  const syncing = new Map<string, Promise<SyncReport>>();
  let isTidy = false;

  function directory() {
    return agents() ?? unavailable("the plugin agents is not running; see `svc plugins why agents`");
  }

  function workspaceOf(agentId: string): string {
    const agent = directory()
      .list()
      .find(({ id }) => id === agentId);
    return agent?.workspace ?? notFound(`there is no agent "${agentId.slice(0, 100)}"; see \`svc agents list\``);
  }

  function settings(agentId: string): MemorySettings {
    workspaceOf(agentId);
    return settingsOf(directory().memorySearch(agentId));
  }

  /** @throws GatewayError `UNAVAILABLE` when the memory is disabled */
  function enabledSettings(agentId: string): MemorySettings {
    const found = settings(agentId);
    if (found.enabled) return found;
    return unavailable(`memory search is disabled for agent "${agentId}": memorySearch.enabled is false`);
  }

  async function memoryOf(agentId: string, found: MemorySettings): Promise<AgentMemory & Partial<NoEndpoint>> {
    const { extraPaths, chunking, useExtension, maxCached } = found;
    const memory = { agentId, workspace: workspaceOf(agentId), extraPaths, chunking, useExtension, maxCached };
    const endpoint = found.endpoint && (await findEndpoint(found.endpoint, secrets()));
    if (endpoint === undefined) return memory;
    return "reason" in endpoint ? { ...memory, reason: endpoint.reason } : { ...memory, endpoint };
  }

  async function bare(agentId: string): Promise<AgentMemory> {
    const { reason: _reason, ...memory } = await memoryOf(agentId, settings(agentId));
    return memory;
  }

  /** Runs once per set of agents. A failure is harmless. */
  async function tidy(): Promise<void> {
    if (isTidy) return;
    isTidy = true;
    const agentIds = directory()
      .list()
      .map(({ id }) => id);
    await thread
      .ask("keep", { agentIds })
      .catch((err: unknown) => log.warn({ err }, "indexes of removed agents could not be dropped"));
  }

  async function synced(agentId: string, force: boolean, signal?: AbortSignal): Promise<SyncReport> {
    const { reason, ...memory } = await memoryOf(agentId, enabledSettings(agentId));
    const report = await thread.ask("sync", { memory, force }, signal);
    used?.(agentId);
    void tidy();
    return reason === undefined ? report : { ...report, error: reason };
  }

  const indexes: AgentIndexes = {
    agentIds: () => {
      const known = directory();
      const others = known.list().map(({ id }) => id);
      return [known.defaultId, ...others.filter((id) => id !== known.defaultId)];
    },
    settings,
    locate(agentId, path) {
      const found = locate(path, workspaceOf(agentId), settings(agentId).extraPaths);
      return found ?? invalidRequest(`"${path.slice(0, 100)}" is not a memory file; memory files are ${WHERE}`);
    },
    async search(agentId, { text, maxResults, minScore }, signal) {
      const found = enabledSettings(agentId);
      const { reason, ...memory } = await memoryOf(agentId, found);
      const query = {
        text,
        maxResults: maxResults ?? found.maxResults,
        minScore: minScore ?? found.minScore,
        hybrid: found.hybrid,
        refresh: found.refreshOnSearch,
      };
      const answer = await thread.ask("search", { memory, query }, signal);
      used?.(agentId);
      void tidy();
      // Keeps the thread running until all chunks have vectors.
      if ((answer.pending ?? 0) > 0) indexes.sync(agentId, { force: false }).catch(quiet);
      return reason === undefined ? answer : { ...answer, meaning: reason };
    },
    sync(agentId, { force, signal }) {
      if (force || signal) return synced(agentId, force, signal);
      const running = syncing.get(agentId);
      if (running) return running;
      const work = synced(agentId, false).finally(() => syncing.delete(agentId));
      syncing.set(agentId, work);
      return work;
    },
    async figures(agentId) {
      return existsSync(file()) ? thread.ask("figures", { memory: await bare(agentId) }) : undefined;
    },
    async endpoint(agentId) {
      const { endpoint } = settings(agentId);
      return endpoint && findEndpoint(endpoint, secrets());
    },
    probe: (endpoint, signal) => thread.ask("probe", { endpoint }, signal),
    agentsChanged: () => void (isTidy = false),
  };

  /** Ignores expected errors, which the next search reports. */
  function quiet(err: unknown): void {
    if (!isGatewayError(err)) log.warn({ err }, "a memory index could not be updated");
  }
  return indexes;
}

/** Where memory files are, as text for people and models. */
export const WHERE = "MEMORY.md, memory.md and the .md files below memory/";

/** The memories of agents, as tools, methods and the watch use them: settings and secrets looked up, the thread asked. */
import { invalidRequest, isGatewayError, type Logger, notFound, unavailable } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Secrets } from "@svc/sdk/secrets";
import { existsSync } from "node:fs";
import { findEndpoint, type NoEndpoint } from "./endpoint.ts";
import { locate, type Located } from "./files.ts";
import type { Endpoint, Figures, MemoryAnswer, Place, SyncReport } from "./memory-index.ts";
import { type MemorySettings, settingsOf } from "./settings.ts";
import type { Thread } from "./thread.ts";

export interface DeskParts {
  readonly agents: () => Pick<AgentDirectory, "list" | "memorySearch" | "defaultId"> | undefined;
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  readonly thread: Pick<Thread, "ask">;
  /** Path of the index. */
  readonly file: () => string;
  readonly log: Pick<Logger, "warn">;
  /** Told when an agent's memory was used, so that it is followed from then on. */
  readonly used?: (agentId: string) => void;
}

/** What a search asks for; the agent's settings say the rest. */
export interface Asked {
  readonly text: string;
  readonly maxResults?: number | undefined;
  readonly minScore?: number | undefined;
}

export interface Desk {
  /** All agents, the default one first. @throws GatewayError `UNAVAILABLE` while the plugin agents is away */
  agentIds(): readonly string[];
  /** @throws GatewayError `NOT_FOUND`: there is no such agent */
  settings(agentId: string): MemorySettings;
  /** @throws GatewayError `INVALID_REQUEST` for what is no file of this memory */
  locate(agentId: string, path: string): Located;
  /** @throws GatewayError `NOT_FOUND`, `UNAVAILABLE`; the signal's reason */
  search(agentId: string, asked: Asked, signal: AbortSignal): Promise<MemoryAnswer>;
  /** The same work for all who ask while it is under way, unless it is forced. */
  sync(agentId: string, options: { readonly force: boolean; readonly signal?: AbortSignal }): Promise<SyncReport>;
  /** `undefined`: there is no index yet. Changes nothing. */
  figures(agentId: string): Promise<Figures | undefined>;
  /** The server that tells what texts mean; `undefined`: none is set up. */
  endpoint(agentId: string): Promise<Endpoint | NoEndpoint | undefined>;
  probe(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined>;
  /** Agents may have gone: their indexes go with the next use. */
  agentsChanged(): void;
}

export function createDesk({ agents, secrets, thread, file, log, used }: DeskParts): Desk {
  const syncing = new Map<string, Promise<SyncReport>>();
  let isTidy = false;

  function directory() {
    return agents() ?? unavailable("the plugin agents is away; see `svc plugins why agents`");
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

  /** @throws GatewayError when it is switched off */
  function enabledSettings(agentId: string): MemorySettings {
    const found = settings(agentId);
    if (found.enabled) return found;
    return unavailable(`the memory of agent "${agentId}" is not searched: memorySearch.enabled is false`);
  }

  async function placeOf(agentId: string, found: MemorySettings): Promise<Place & Partial<NoEndpoint>> {
    const { extraPaths, chunking, useExtension, maxCached } = found;
    const place = { agentId, workspace: workspaceOf(agentId), extraPaths, chunking, useExtension, maxCached };
    const endpoint = found.endpoint && (await findEndpoint(found.endpoint, secrets()));
    if (endpoint === undefined) return place;
    return "reason" in endpoint ? { ...place, reason: endpoint.reason } : { ...place, endpoint };
  }

  async function bare(agentId: string): Promise<Place> {
    const { reason: _reason, ...place } = await placeOf(agentId, settings(agentId));
    return place;
  }

  /** Once for each set of agents; what is left over hurts nobody. */
  async function tidy(): Promise<void> {
    if (isTidy) return;
    isTidy = true;
    const agentIds = directory()
      .list()
      .map(({ id }) => id);
    await thread
      .ask("keep", { agentIds })
      .catch((err: unknown) => log.warn({ err }, "old indexes could not be dropped"));
  }

  async function synced(agentId: string, force: boolean, signal?: AbortSignal): Promise<SyncReport> {
    const { reason, ...place } = await placeOf(agentId, enabledSettings(agentId));
    const report = await thread.ask("sync", { place, force }, signal);
    used?.(agentId);
    void tidy();
    return reason === undefined ? report : { ...report, error: reason };
  }

  const desk: Desk = {
    agentIds: () => {
      const known = directory();
      const others = known.list().map(({ id }) => id);
      return [known.defaultId, ...others.filter((id) => id !== known.defaultId)];
    },
    settings,
    locate(agentId, path) {
      const found = locate(path, workspaceOf(agentId), settings(agentId).extraPaths);
      return found ?? invalidRequest(`"${path.slice(0, 100)}" is no memory file: those are ${WHERE}`);
    },
    async search(agentId, { text, maxResults, minScore }, signal) {
      const found = enabledSettings(agentId);
      const { reason, ...place } = await placeOf(agentId, found);
      const query = {
        text,
        maxResults: maxResults ?? found.maxResults,
        minScore: minScore ?? found.minScore,
        hybrid: found.hybrid,
        refresh: found.refreshOnSearch,
      };
      const answer = await thread.ask("search", { place, query }, signal);
      used?.(agentId);
      void tidy();
      // The thread goes on asking, and is kept until it is done.
      if ((answer.pending ?? 0) > 0) desk.sync(agentId, { force: false }).catch(quiet);
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
      return existsSync(file()) ? thread.ask("figures", { place: await bare(agentId) }) : undefined;
    },
    async endpoint(agentId) {
      const { endpoint } = settings(agentId);
      return endpoint && findEndpoint(endpoint, secrets());
    },
    probe: (endpoint, signal) => thread.ask("probe", { endpoint }, signal),
    agentsChanged: () => void (isTidy = false),
  };

  /** What is wrong is said again by the next search. */
  function quiet(err: unknown): void {
    if (!isGatewayError(err)) log.warn({ err }, "an index of memories could not be brought up to date");
  }
  return desk;
}

/** For people and models. */
export const WHERE = "MEMORY.md, memory.md and the .md files below memory/";

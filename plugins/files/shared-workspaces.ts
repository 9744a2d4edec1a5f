/** The workspaces of all agents: when each is brought up to date, and what the last attempt found. */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { type Clock, invalidRequest, type Logger, messageOf, Turns } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";
import type { AgentInfo, Files, SharedWorkspace } from "@svc/sdk/agents";
import { removeBase } from "./base.ts";
import { type SyncSources, WorkspaceSync } from "./sync.ts";

/** Choice: milliseconds for which a run waits. */
const WAIT_MS = 5_000;

export interface WorkspacesSources extends SyncSources {
  /** The agents of this gateway, always in the same order. */
  readonly agents: () => readonly AgentInfo[];
  /** File of the base of an agent's workspace. */
  readonly baseFile: (agentId: string) => string;
  /** No other gateway waits for the files. */
  readonly isAlone: () => boolean;
  /** Tells the other gateways that a workspace has changed. */
  readonly announce: (agentId: string) => void;
  /** Asks the other gateways for files whose bytes are not in the store. */
  readonly askFor: (agentId: string, paths: readonly string[]) => void;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn" | "info">;
  readonly signal: AbortSignal;
}

interface Member {
  readonly workspace: string;
  readonly sync: WorkspaceSync;
}

/** Of the last attempt for a workspace. `syncedAt`: of the last one that succeeded, epoch ms. */
interface Outcome {
  readonly syncedAt?: number;
  readonly error?: string;
}

export class SharedWorkspaces implements Files {
  readonly #sources: WorkspacesSources;
  readonly #members = new Map<string, Member>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #turns = new Turns();
  readonly #running = new Set<Promise<unknown>>();

  constructor(sources: WorkspacesSources) {
    this.#sources = sources;
  }

  pull(agentId: string): Promise<boolean> {
    return this.#inTime(
      this.#run(agentId, async (sync, signal, owner) => {
        const isChanged = await sync.pull(signal);
        if (sync.lost.length > 0) this.#sources.askFor(owner, sync.lost);
        return isChanged;
      }),
    );
  }

  /** Another gateway misses the bytes of these files: stores those that are here. */
  async restore(agentId: string, paths: readonly string[]): Promise<void> {
    await this.#run(agentId, async (sync, signal, owner) => {
      const isRestored = await sync.restore(paths, signal);
      if (isRestored) this.#sources.announce(owner);
      return isRestored;
    });
  }

  async push(agentId: string): Promise<void> {
    const stored = this.#inTime(
      this.#run(agentId, async (sync, signal, owner) => {
        const isStored = await sync.push(signal);
        if (isStored) this.#sources.announce(owner);
        return isStored;
      }),
    );
    if (!this.#sources.isAlone()) await stored;
  }

  async forget(agentId: string): Promise<void> {
    const { manifest, baseFile, log } = this.#sources;
    const work = this.#turns.take(agentId, async () => {
      this.#members.delete(agentId);
      this.#outcomes.delete(agentId);
      await removeBase(baseFile(agentId));
      await manifest.forget(agentId);
    });
    await work.catch((error: unknown) =>
      log.warn({ agentId, reason: messageOf(error) }, "the shared files of a deleted agent stay in the store"),
    );
  }

  /** Stores what changed in any workspace, and gets what changed elsewhere. Resolves when all were looked at. */
  async pushAll(): Promise<void> {
    for (const { id } of this.#owners()) await this.push(id);
  }

  status(): SharedWorkspace[] {
    return this.#owners().map(({ id: agentId, workspace }) => {
      const report = this.#members.get(agentId)?.sync.report ?? { files: 0, bytes: 0, conflicts: 0, skipped: [] };
      return { agentId, workspace, ...report, ...this.#outcomes.get(agentId) };
    });
  }

  /** Resolves when nothing runs any more; the signal must have aborted. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Of agents that use the same directory, the first one. */
  #owners(): readonly AgentInfo[] {
    const agents = this.#sources.agents();
    return agents.filter(({ workspace }, at) => agents.findIndex((one) => one.workspace === workspace) === at);
  }

  /** Never rejects. @returns the result of `work`; false if it failed, or if the agent has no workspace */
  async #run(
    agentId: string,
    work: (sync: WorkspaceSync, signal: AbortSignal, owner: string) => Promise<boolean>,
  ): Promise<boolean> {
    const { signal, clock, log } = this.#sources;
    const asked = this.#sources.agents().find(({ id }) => id === agentId);
    const owner = this.#owners().find(({ workspace }) => workspace === asked?.workspace);
    if (!owner || signal.aborted) return false;
    return this.#turns.take(owner.id, async () => {
      if (!this.#sources.agents().some(({ id }) => id === agentId)) return false; // deleted meanwhile
      const { error: former, syncedAt } = this.#outcomes.get(owner.id) ?? {};
      try {
        const result = await work(await this.#syncOf(owner), signal, owner.id);
        this.#outcomes.set(owner.id, { syncedAt: clock.now() });
        if (former !== undefined) log.info({ agentId: owner.id }, "a workspace is shared again");
        return result;
      } catch (thrown) {
        if (signal.aborted) return false;
        const error = messageOf(thrown);
        this.#outcomes.set(owner.id, { error, ...(syncedAt === undefined ? {} : { syncedAt }) });
        if (error !== former)
          log.warn(
            { agentId: owner.id, reason: error },
            "a workspace could not be shared; the agent uses the files of this gateway",
          );
        return false;
      }
    });
  }

  /** @throws GatewayError `INVALID_REQUEST`: the store and the workspace contain each other */
  async #syncOf({ id, workspace }: AgentInfo): Promise<WorkspaceSync> {
    const known = this.#members.get(id);
    if (known?.workspace === workspace) return known.sync;
    const root = await realpath(workspace).catch(() => resolve(workspace)); // created with its first file
    const { directory } = this.#sources.objects;
    if (directory !== undefined && (isInside(root, directory) || isInside(directory, root)))
      invalidRequest(`files.directory and the workspace ${root} contain each other; next: set it to another directory`);
    const sync = new WorkspaceSync({ agentId: id, workspace, root, file: this.#sources.baseFile(id) }, this.#sources);
    this.#members.set(id, { workspace, sync });
    return sync;
  }

  /** Waits for the result, but not for long. */
  async #inTime(work: Promise<boolean>): Promise<boolean> {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
    let cancel = () => {};
    const late = new Promise<boolean>((done) => {
      cancel = this.#sources.clock.setTimeout(() => done(false), WAIT_MS);
    });
    return Promise.race([work, late]).finally(() => cancel());
  }
}

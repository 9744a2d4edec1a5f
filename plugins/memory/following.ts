/** Keeps the indexes of agents up to date while nobody searches: by watching their files, by the clock, and by trying again. */
import { existsSync } from "node:fs";
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { Desk } from "./desk.ts";
import { type DirectoryWatch, watchDirectories, type WatchParts } from "./directory-watch.ts";
import type { MemorySettings } from "./settings.ts";

/** Milliseconds between two calls of `tick`. */
export const TICK_MS = 60_000;

export interface FollowingParts {
  readonly desk: Pick<Desk, "agentIds" | "settings" | "sync">;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
  readonly watch?: (parts: WatchParts) => DirectoryWatch;
  readonly exists?: (path: string) => boolean;
}

export interface Following {
  /** An agent's memory was searched or indexed. */
  used(agentId: string): void;
  /** Begins with the agents for which there is a server to ask, and takes changed settings. */
  settle(): void;
  /** What is due by the clock; once a minute. */
  tick(): void;
  /** Safe to call twice. */
  stop(): void;
}

interface Followed {
  watch?: DirectoryWatch;
  cancelTimer?: (() => void) | undefined;
  isRunning: boolean;
  /** Something changed while it ran. */
  isDue: boolean;
  /** Some places or directories wait for the next tick. */
  isPartial: boolean;
  /** Directories that are not there; nothing has to be done until they are. */
  missing: readonly string[];
  /** epoch ms */
  lastAt: number;
}

/** Choice: where each search looks by itself and there is no server to ask ahead of it, watching would bring nothing. */
const isWatched = ({ enabled, watch, endpoint, refreshOnSearch }: MemorySettings) =>
  enabled && watch && (endpoint !== undefined || !refreshOnSearch);

/** In the workspace itself, only these are memory. */
const IN_WORKSPACE = new Set(["MEMORY.md", "memory.md", "memory"]);

export function createFollowing(parts: FollowingParts): Following {
  const { desk, clock, log, signal, watch = watchDirectories, exists = existsSync } = parts;
  const all = new Map<string, Followed>();
  let isStopped = false;
  let hasWarned = false;

  /** `undefined`: there is no such agent, or the plugin agents is away. */
  function settingsOf(agentId: string): MemorySettings | undefined {
    try {
      return desk.settings(agentId);
    } catch (error) {
      if (isGatewayError(error)) return undefined;
      throw error;
    }
  }

  function drop(agentId: string): void {
    const followed = all.get(agentId);
    followed?.cancelTimer?.();
    followed?.watch?.close();
    all.delete(agentId);
  }

  function begin(agentId: string): Followed {
    const fresh: Followed = { isRunning: false, isDue: false, isPartial: false, missing: [], lastAt: clock.now() };
    all.set(agentId, fresh);
    schedule(agentId, 0);
    return fresh;
  }

  function schedule(agentId: string, ms: number): void {
    const followed = all.get(agentId);
    if (!followed || isStopped) return;
    followed.isDue = true;
    if (followed.isRunning) return;
    followed.cancelTimer?.();
    followed.cancelTimer = clock.setTimeout(() => void run(agentId, followed), ms);
  }

  async function run(agentId: string, followed: Followed): Promise<void> {
    followed.cancelTimer = undefined;
    followed.isDue = false;
    followed.isRunning = true;
    try {
      const { directories, pending = 0, error } = await desk.sync(agentId, { force: false, signal });
      if (isStopped || all.get(agentId) !== followed) return;
      const { isNew, missing, failed } = follow(agentId, followed, directories);
      followed.isPartial = pending > 0 || error !== undefined || failed.length > 0;
      followed.missing = missing;
      if (isNew) followed.isDue = true; // what is new may have changed before it was watched
    } catch (err) {
      followed.isPartial = true;
      if (!isStopped && !isGatewayError(err)) log.warn({ err }, "an index of memories could not be brought up to date");
    } finally {
      followed.lastAt = clock.now();
      followed.isRunning = false;
    }
    if (followed.isDue) schedule(agentId, settingsOf(agentId)?.watchDebounceMs ?? 0);
  }

  function follow(agentId: string, followed: Followed, directories: readonly string[]) {
    const settings = settingsOf(agentId);
    if (!settings || !isWatched(settings)) {
      followed.watch?.close();
      delete followed.watch;
      return { isNew: false, missing: [], failed: [] };
    }
    const [workspace] = directories;
    followed.watch ??= watch({
      changed(directory, name) {
        if (directory === workspace && name !== undefined && !IN_WORKSPACE.has(name)) return;
        schedule(agentId, settingsOf(agentId)?.watchDebounceMs ?? 0);
      },
      failed(_directory, error) {
        if (hasWarned) return;
        hasWarned = true;
        log.warn({ err: error }, "some directories of memories cannot be watched; they are looked at once a minute");
      },
    });
    return followed.watch.follow(directories);
  }

  return {
    used(agentId) {
      if (isStopped || all.has(agentId)) return;
      const settings = settingsOf(agentId);
      if (settings && isWatched(settings)) begin(agentId);
    },
    settle() {
      if (isStopped) return;
      for (const agentId of all.keys()) if (settingsOf(agentId)?.enabled !== true) drop(agentId);
      for (const agentId of agentIds(desk)) {
        const settings = settingsOf(agentId);
        if (!settings?.enabled) continue;
        const isWanted = (settings.endpoint !== undefined && isWatched(settings)) || settings.intervalMinutes > 0;
        if (all.has(agentId)) schedule(agentId, settings.watchDebounceMs);
        else if (isWanted) begin(agentId);
      }
    },
    tick() {
      for (const [agentId, followed] of all) {
        const minutes = settingsOf(agentId)?.intervalMinutes ?? 0;
        const isLate = minutes > 0 && clock.now() - followed.lastAt >= minutes * 60_000;
        const isDue = isLate || followed.missing.some((directory) => exists(directory));
        if (isDue || followed.isPartial) schedule(agentId, 0);
      }
    },
    stop() {
      isStopped = true;
      for (const agentId of all.keys()) drop(agentId);
    },
  };
}

function agentIds(desk: FollowingParts["desk"]): readonly string[] {
  try {
    return desk.agentIds();
  } catch (error) {
    if (isGatewayError(error)) return [];
    throw error;
  }
}

/** Syncs the indexes of agents between searches: when files change, periodically, and after failures. */
import { existsSync } from "node:fs";
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { AgentIndexes } from "./agent-indexes.ts";
import { type DirectoryWatch, watchDirectories, type WatchParts } from "./files/directory-watch.ts";
import type { MemorySettings } from "./settings.ts";

/** Milliseconds between two calls of `tick`. */
export const TICK_MS = 60_000;

export interface BackgroundSyncOptions {
  readonly indexes: Pick<AgentIndexes, "agentIds" | "settings" | "sync">;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
  readonly watch?: (parts: WatchParts) => DirectoryWatch;
  readonly exists?: (path: string) => boolean;
}

export interface BackgroundSync {
  /** An agent's memory was searched or indexed. */
  used(agentId: string): void;
  /** Starts with the agents that have an embeddings server, and applies changed settings. */
  applySettings(): void;
  /** Periodic work; called once a minute. */
  tick(): void;
  /** Safe to call twice. */
  stop(): void;
}

interface SyncState {
  watch?: DirectoryWatch;
  cancelTimer?: (() => void) | undefined;
  isRunning: boolean;
  /** Something changed during the run. */
  isDue: boolean;
  /** Some chunks or directories are left for the next tick. */
  isPartial: boolean;
  /** Directories that do not exist yet. */
  missing: readonly string[];
  /** epoch ms */
  lastAt: number;
}

/** Choice: no watch if every search checks the files itself and there are no vectors to prepare. */
const isWatched = ({ enabled, watch, endpoint, refreshOnSearch }: MemorySettings) =>
  enabled && watch && (endpoint !== undefined || !refreshOnSearch);

/** In the workspace itself, only these are memory. */
const IN_WORKSPACE = new Set(["MEMORY.md", "memory.md", "memory"]);

export function createBackgroundSync(parts: BackgroundSyncOptions): BackgroundSync {
  const { indexes, clock, log, signal, watch = watchDirectories, exists = existsSync } = parts;
  const all = new Map<string, SyncState>();
  let isStopped = false;
  let hasWarned = false;

  /** `undefined`: no such agent, or the plugin agents is not running. */
  function settingsOf(agentId: string): MemorySettings | undefined {
    try {
      return indexes.settings(agentId);
    } catch (error) {
      if (isGatewayError(error)) return undefined;
      throw error;
    }
  }

  function drop(agentId: string): void {
    const state = all.get(agentId);
    state?.cancelTimer?.();
    state?.watch?.close();
    all.delete(agentId);
  }

  function begin(agentId: string): SyncState {
    const fresh: SyncState = { isRunning: false, isDue: false, isPartial: false, missing: [], lastAt: clock.now() };
    all.set(agentId, fresh);
    schedule(agentId, 0);
    return fresh;
  }

  function schedule(agentId: string, ms: number): void {
    const state = all.get(agentId);
    if (!state || isStopped) return;
    state.isDue = true;
    if (state.isRunning) return;
    state.cancelTimer?.();
    state.cancelTimer = clock.setTimeout(() => void run(agentId, state), ms);
  }

  async function run(agentId: string, state: SyncState): Promise<void> {
    state.cancelTimer = undefined;
    state.isDue = false;
    state.isRunning = true;
    try {
      const { directories, pending = 0, error } = await indexes.sync(agentId, { force: false, signal });
      if (isStopped || all.get(agentId) !== state) return;
      const { isNew, missing, failed } = follow(agentId, state, directories);
      state.isPartial = pending > 0 || error !== undefined || failed.length > 0;
      state.missing = missing;
      if (isNew) state.isDue = true; // a new directory may have changed before the watch began
    } catch (err) {
      state.isPartial = true;
      if (!isStopped && !isGatewayError(err)) log.warn({ err }, "a memory index could not be updated");
    } finally {
      state.lastAt = clock.now();
      state.isRunning = false;
    }
    if (state.isDue) schedule(agentId, settingsOf(agentId)?.watchDebounceMs ?? 0);
  }

  function follow(agentId: string, state: SyncState, directories: readonly string[]) {
    const settings = settingsOf(agentId);
    if (!settings || !isWatched(settings)) {
      state.watch?.close();
      delete state.watch;
      return { isNew: false, missing: [], failed: [] };
    }
    const [workspace] = directories;
    state.watch ??= watch({
      changed(directory, name) {
        if (directory === workspace && name !== undefined && !IN_WORKSPACE.has(name)) return;
        schedule(agentId, settingsOf(agentId)?.watchDebounceMs ?? 0);
      },
      failed(_directory, error) {
        if (hasWarned) return;
        hasWarned = true;
        log.warn({ err: error }, "some memory directories cannot be watched; they are checked once a minute");
      },
    });
    return state.watch.follow(directories);
  }

  return {
    used(agentId) {
      if (isStopped || all.has(agentId)) return;
      const settings = settingsOf(agentId);
      if (settings && isWatched(settings)) begin(agentId);
    },
    applySettings() {
      if (isStopped) return;
      for (const agentId of all.keys()) if (settingsOf(agentId)?.enabled !== true) drop(agentId);
      for (const agentId of agentIds(indexes)) {
        const settings = settingsOf(agentId);
        if (!settings?.enabled) continue;
        const isWanted = (settings.endpoint !== undefined && isWatched(settings)) || settings.intervalMinutes > 0;
        if (all.has(agentId)) schedule(agentId, settings.watchDebounceMs);
        else if (isWanted) begin(agentId);
      }
    },
    tick() {
      for (const [agentId, state] of all) {
        const minutes = settingsOf(agentId)?.intervalMinutes ?? 0;
        const isLate = minutes > 0 && clock.now() - state.lastAt >= minutes * 60_000;
        const isDue = isLate || state.missing.some((directory) => exists(directory));
        if (isDue || state.isPartial) schedule(agentId, 0);
      }
    },
    stop() {
      isStopped = true;
      for (const agentId of all.keys()) drop(agentId);
    },
  };
}

function agentIds(indexes: BackgroundSyncOptions["indexes"]): readonly string[] {
  try {
    return indexes.agentIds();
  } catch (error) {
    if (isGatewayError(error)) return [];
    throw error;
  }
}

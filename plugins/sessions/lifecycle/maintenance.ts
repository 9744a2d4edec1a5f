/**
 * Enforces the limits on age and number of sessions, age of archives, and bytes. Mode `warn` only logs what
 * `enforce` would delete. Spec: http/sessions-routing.md §4, protocol/stores.md §1 (`session.maintenance`).
 */
import { parseDuration, parseSize } from "@svc/kit/time";
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { MaintenanceConfig } from "../config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Candidate, Listed, Retention } from "./retention.ts";

export interface MaintenanceOptions {
  readonly retention: Retention;
  readonly lifecycle: Pick<Lifecycle, "delete">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Read at each run. */
  readonly config: () => MaintenanceConfig;
  /** Whether a session is the main session of an agent, which is never deleted. */
  readonly isMain: (key: string) => boolean;
  /** Whether a session has an active run. */
  readonly isActive: (key: string) => boolean;
  /** Stops maintenance between two steps. */
  readonly signal: AbortSignal;
}

/** The configured limits as numbers. */
export interface Limits {
  /** Milliseconds without use. */
  readonly pruneAfterMs: number;
  /** Absent: no limit. */
  readonly maxEntries: number | undefined;
  /** Milliseconds; absent: archives stay forever. */
  readonly retentionMs: number | undefined;
  /** Bytes; absent: no limit. */
  readonly maxBytes: number | undefined;
  /** Bytes to reduce to. */
  readonly highWaterBytes: number;
}

/** Sessions or archives per batch. */
const BATCH = 50;
/** Sessions counted per read. */
const COUNTED = 500;
const START: Candidate = { key: "", updatedAt: -1 };

export function limitsOf(config: MaintenanceConfig): Limits {
  const { pruneAfter, pruneDays, resetArchiveRetention, maxDiskBytes, highWaterBytes, maxEntries } = config;
  const pruneAfterMs = parseDuration(pruneAfter ?? pruneDays ?? "30d");
  const retentionMs = resetArchiveRetention === undefined ? pruneAfterMs : retentionOf(resetArchiveRetention);
  const maxBytes = maxDiskBytes === undefined ? undefined : parseSize(maxDiskBytes);
  return {
    pruneAfterMs,
    maxEntries,
    retentionMs,
    maxBytes,
    highWaterBytes: Math.min(
      maxBytes ?? 0,
      highWaterBytes === undefined ? Math.floor((maxBytes ?? 0) * 0.8) : parseSize(highWaterBytes),
    ),
  };
}

function retentionOf(setting: NonNullable<MaintenanceConfig["resetArchiveRetention"]>): number | undefined {
  return setting === false ? undefined : parseDuration(setting);
}

/**
 * @returns a function that runs maintenance, or only counts with `dryRun`; a call during a run does nothing. It resolves with the
 * number of sessions and archives that were or would be deleted, and rejects with errors of the storage.
 */
export function createMaintenance(options: MaintenanceOptions): (dryRun: boolean) => Promise<number> {
  const { retention, lifecycle, clock, log, config, isMain, isActive, signal } = options;
  let running = false;
  let lastWarning = "";
  let deletions = 0;

  async function countUnused(before: number): Promise<number> {
    let count = 0;
    for (const listed of [0, 1] as const) {
      for (let after: Candidate | undefined = START; after && !signal.aborted;) {
        const batch: Candidate[] = await retention.unused(listed, before, after, COUNTED);
        count += batch.filter(({ key }) => !isMain(key)).length;
        after = batch.length < COUNTED ? undefined : batch.at(-1);
      }
    }
    return count;
  }

  async function findingsOf(limits: Limits) {
    const now = clock.now();
    const [unused, entries, archives, bytes] = await Promise.all([
      countUnused(now - limits.pruneAfterMs),
      retention.countListed(),
      limits.retentionMs === undefined ? 0 : retention.countRetired(now - limits.retentionMs),
      limits.maxBytes === undefined ? 0 : retention.bytes(signal),
    ]);
    const sessionsOverLimit = entries - (limits.maxEntries ?? Infinity);
    return {
      ...(unused > 0 && { unusedSessions: unused }),
      ...(sessionsOverLimit > 0 && { sessionsOverLimit }),
      ...(archives > 0 && { expiredArchives: archives }),
      ...(bytes > (limits.maxBytes ?? Infinity) && { bytesOverLimit: bytes - (limits.maxBytes ?? 0) }),
    };
  }

  async function warn(limits: Limits): Promise<void> {
    const findings = await findingsOf(limits);
    const warning = JSON.stringify(findings);
    // Does not repeat the same warning every hour.
    if (warning !== "{}" && warning !== lastWarning) {
      log.warn(
        findings,
        'the session store exceeds its limits; set session.maintenance.mode to "enforce" to clean it up',
      );
    }
    lastWarning = warning;
  }

  /** @returns whether it was deleted */
  async function removeSession({ key, updatedAt }: Candidate, why: string): Promise<boolean> {
    if (isMain(key)) return false;
    if (isActive(key)) {
      log.info({ key, why }, "maintenance kept a session: it has an active run");
      return false;
    }
    try {
      const removal = { archive: true, announce: true, unusedSince: updatedAt };
      const { deleted, archived } = await lifecycle.delete(key, removal);
      if (deleted) deletions += 1;
      if (deleted)
        log.info({ key, why, lastUsed: new Date(updatedAt).toISOString(), archived }, "maintenance deleted a session");
      return deleted;
    } catch (thrown) {
      if (!isGatewayError(thrown)) throw thrown;
      log.info({ key, why, reason: thrown.message }, "maintenance kept a session");
      return false;
    }
  }

  /** Removes sessions, longest unused first, until `enough()`. */
  async function removeUnused(
    listed: Listed,
    before: number,
    why: string,
    enough: () => boolean,
    removed: () => unknown,
  ) {
    let after = START;
    while (!signal.aborted && !enough()) {
      const batch = await retention.unused(listed, before, after, BATCH);
      for (const candidate of batch) {
        if (signal.aborted || enough()) return;
        if (await removeSession(candidate, why)) await removed();
      }
      const last = batch.at(-1);
      if (!last || batch.length < BATCH) return;
      after = last;
    }
  }

  /** Purges archives, oldest first, until `enough()`. @param freed receives the bytes of each */
  async function purge(before: number, why: string, enough: () => boolean, freed: (bytes: number) => void) {
    while (!signal.aborted && !enough()) {
      const batch = await retention.retired(before, BATCH);
      for (const { sessionId, key, reason, archivedAt } of batch) {
        if (signal.aborted || enough()) return;
        const bytes = await retention.bytesOf(sessionId);
        const messages = await retention.purge(sessionId);
        deletions += 1;
        freed(messages > 0 ? bytes : 0);
        const archived = new Date(archivedAt).toISOString();
        log.info({ sessionId, key, reason, archived, messages, why }, "maintenance deleted an archived transcript");
      }
      if (batch.length < BATCH) return;
    }
  }

  async function fitBytes({ maxBytes, highWaterBytes }: Limits): Promise<void> {
    if (maxBytes === undefined) return;
    let bytes = await retention.bytes(signal);
    if (bytes <= maxBytes) return;
    const fits = () => bytes <= highWaterBytes;
    const freed = (some: number) => (bytes -= some);
    const purgeAll = () => purge(Number.MAX_SAFE_INTEGER, "maxDiskBytes", fits, freed);
    await purgeAll();
    for (const listed of [0, 1] as const) {
      await removeUnused(listed, Number.MAX_SAFE_INTEGER, "maxDiskBytes", fits, purgeAll);
    }
    if (!fits())
      log.warn({ bytes, highWaterBytes }, "transcripts exceed maxDiskBytes; the remaining sessions cannot be deleted");
  }

  async function enforce(limits: Limits): Promise<void> {
    const never = () => false;
    const nothing = () => undefined;
    const unusedBefore = clock.now() - limits.pruneAfterMs;
    for (const listed of [0, 1] as const) await removeUnused(listed, unusedBefore, "pruneAfter", never, nothing);

    let excess = (await retention.countListed()) - (limits.maxEntries ?? Infinity);
    const isFew = () => excess <= 0;
    await removeUnused(1, Number.MAX_SAFE_INTEGER, "maxEntries", isFew, () => (excess -= 1));

    if (limits.retentionMs !== undefined) {
      await purge(clock.now() - limits.retentionMs, "resetArchiveRetention", never, nothing);
    }
    await fitBytes(limits);
  }

  return async (dryRun) => {
    if (running || signal.aborted) return 0;
    running = true;
    deletions = 0;
    try {
      const limits = limitsOf(config());
      const isEnforced = config().mode === "enforce";
      if (dryRun) {
        const { unusedSessions = 0, sessionsOverLimit = 0, expiredArchives = 0 } = await findingsOf(limits);
        return isEnforced ? Math.max(unusedSessions, sessionsOverLimit) + expiredArchives : 0;
      }
      await (isEnforced ? enforce(limits) : warn(limits));
      return deletions;
    } finally {
      running = false;
    }
  };
}

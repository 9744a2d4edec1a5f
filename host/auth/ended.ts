/**
 * Ended credentials, stored across restarts: a run on disk acts for a principal, and that principal may have ended since.
 * One file in the credentials directory, mode 0600.
 */
import { randomBytes, scryptSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { matches, type Static, Turns, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { AuthSettings } from "./settings.ts";

/** Epochs grow each time a credential ends and never fall, not even across restarts. */
export const Ended = Type.Object({
  /** The current epoch. */
  epoch: Type.Integer(),
  /** Principals of the shared credential from before this epoch are dead. */
  sharedSince: Type.Integer(),
  /** Revocations before this epoch are unknown: all principals of an earlier epoch are dead, except those of plugins. */
  unknownBefore: Type.Integer(),
  /** By principal id: its credentials of this epoch and earlier ones are dead. */
  revoked: Type.Record(Type.String(), Type.Integer()),
});
export type Ended = Static<typeof Ended>;

/** `mark` is a salted hash of the settings that the record was stored with. */
const EndedRecord = Type.Object({ ended: Ended, salt: Type.String(), mark: Type.String() });

const FILE = "ended-credentials.json";

/** No ended credentials. The epoch is above those of former versions, which counted from 1 at each start. @param now epoch ms */
export function nothingEnded(now: number): Ended {
  return { epoch: now, sharedSince: 0, unknownBefore: 0, revoked: {} };
}

/** Credentials that ended before this start, and their file. */
export interface EndedFile {
  readonly ended: Ended;
  /** Why the file could not be read; then all principals from before this start are dead. */
  readonly problem?: string;
  /** Resolves when the record is on disk. @throws Error of the file system */
  keep(ended: Ended, settings: AuthSettings): Promise<void>;
}

/**
 * Reads the ended credentials. Settings other than those stored with them have ended the shared credential; a damaged file
 * ends every principal from before this start.
 * @param now epoch ms
 */
export function openEnded(credentialsDir: string, settings: AuthSettings, now: number): EndedFile {
  const path = join(credentialsDir, FILE);
  let written = readIfThere(path);
  const kept = written === undefined ? "absent" : readRecord(written);
  const salt = typeof kept === "object" ? kept.salt : randomBytes(16).toString("hex");
  let known = { settings, mark: markOf(settings, salt) };
  const turns = new Turns();
  const keep = (ended: Ended, current: AuthSettings) =>
    turns.take(FILE, async () => {
      if (known.settings !== current) known = { settings: current, mark: markOf(current, salt) };
      const text = `${JSON.stringify({ ended, salt, mark: known.mark })}\n`;
      if (text === written) return; // most starts change nothing
      await replaceFile(path, text);
      written = text;
    });
  if (kept === "absent") return { ended: nothingEnded(now), keep };
  if (kept === "damaged") {
    const problem = `${path} is damaged, so the gateway does not know which credentials have ended; runs from before this start do not continue`;
    return { ended: { ...nothingEnded(now), sharedSince: now, unknownBefore: now }, problem, keep };
  }
  if (kept.mark === known.mark) return { ended: kept.ended, keep };
  const epoch = kept.ended.epoch + 1;
  return { ended: { ...kept.ended, epoch, sharedSince: epoch }, keep };
}

/** `""`, which counts as damaged, when the file cannot be read. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : "";
  }
}

function readRecord(text: string): Static<typeof EndedRecord> | "damaged" {
  try {
    const value: unknown = JSON.parse(text);
    return matches(EndedRecord, value) ? value : "damaged";
  } catch {
    return "damaged";
  }
}

/** Deliberately slow, about 8 ms: people choose passwords that can be guessed. */
function markOf(settings: AuthSettings, salt: string): string {
  return scryptSync(JSON.stringify(settings), salt, 32, { N: 4_096 }).toString("hex");
}

/**
 * Which credentials have ended, kept over restarts: a run on disk acts for a principal, and that principal may have ended
 * since. One file in the credentials directory, mode 0600.
 */
import { randomBytes, scryptSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { matches, type Static, Turns, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { AuthSettings } from "./settings.ts";

/** Epochs grow with each end and never fall, over restarts too. */
export const Ended = Type.Object({
  /** Of now. */
  epoch: Type.Integer(),
  /** Principals of the shared credential from before this epoch are dead. */
  sharedSince: Type.Integer(),
  /** What ended before this epoch is not known: all principals from before are dead, but for those of plugins. */
  unknownBefore: Type.Integer(),
  /** By principal: the epoch up to which it is dead. */
  revoked: Type.Record(Type.String(), Type.Integer()),
});
export type Ended = Static<typeof Ended>;

/** `mark` is a salted hash of the settings in which all that holds. */
const EndedRecord = Type.Object({ ended: Ended, salt: Type.String(), mark: Type.String() });

const FILE = "ended-credentials.json";

/** Nothing ended. Above the epochs of former versions, which counted from 1 at each start. @param now epoch ms */
export function nothingEnded(now: number): Ended {
  return { epoch: now, sharedSince: 0, unknownBefore: 0, revoked: {} };
}

/** What ended before this start, and its file. */
export interface EndedFile {
  readonly ended: Ended;
  /** Why the file could not be read; all that came in before is dead then. */
  readonly problem?: string;
  /** On disk when it resolves. @throws Error of the file system */
  keep(ended: Ended, settings: AuthSettings): Promise<void>;
}

/**
 * Reads what ended. Other settings than those it was kept with have ended the shared credential; a file that is damaged
 * ends everything that came in before.
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
    const problem = `${path} is damaged, so that nothing is known of credentials that ended; runs from before this start do not go on`;
    return { ended: { ...nothingEnded(now), sharedSince: now, unknownBefore: now }, problem, keep };
  }
  if (kept.mark === known.mark) return { ended: kept.ended, keep };
  const epoch = kept.ended.epoch + 1;
  return { ended: { ...kept.ended, epoch, sharedSince: epoch }, keep };
}

/** `""`, which is damaged, where it cannot be read. */
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

/** Slow on purpose, about 8 ms: people choose passwords that can be guessed. */
function markOf(settings: AuthSettings, salt: string): string {
  return scryptSync(JSON.stringify(settings), salt, 32, { N: 4_096 }).toString("hex");
}

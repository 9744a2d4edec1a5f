/** Temporary audio files in a private directory. Spec: protocol/methods-tts.md `audioPath`. */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, unavailable } from "@svc/sdk";
import type { Spoken } from "@svc/sdk/speech";

/** Spec: about 5 minutes. */
const KEEP_MS = 300_000;
/** Choice: files that exist at the same time; the oldest is deleted for a new one. */
const MAX_FILES = 50;

export interface AudioFiles {
  /** @returns path of the file. @throws GatewayError `UNAVAILABLE` if it cannot be written */
  add(audio: Pick<Spoken, "bytes" | "extension" | "words">): Promise<string>;
  /** Deletes files that are older than 5 minutes. @returns their number */
  clean(dryRun: boolean): Promise<number>;
  /** Deletes all files. */
  close(): Promise<void>;
}

/** @param directory creates it: the first access to the private directory of the plugin */
export function createAudioFiles(directory: () => string, clock: Clock): AudioFiles {
  const place = () => join(directory(), "audio");
  let opened: Promise<void> | undefined;
  /** By path: cancels its timer. */
  const kept = new Map<string, () => void>();

  /** Files that an earlier process left are deleted: nobody knows their age. */
  async function open(): Promise<void> {
    try {
      await rm(place(), { recursive: true, force: true });
      await mkdir(place(), { recursive: true, mode: 0o700 });
    } catch (error) {
      opened = undefined; // the next file tries again
      throw error;
    }
  }

  async function remove(path: string): Promise<void> {
    kept.get(path)?.();
    kept.delete(path);
    await Promise.all([rm(path, { force: true }), rm(`${path}.words.json`, { force: true })]);
  }

  return {
    async add({ bytes, extension, words }) {
      try {
        await (opened ??= open());
        const path = join(place(), `${randomUUID()}${extension}`);
        const [oldest] = kept.keys();
        if (kept.size >= MAX_FILES && oldest !== undefined) await remove(oldest);
        await writeFile(path, bytes, { mode: 0o600, flag: "wx" });
        if (words !== undefined)
          await writeFile(`${path}.words.json`, JSON.stringify(words), { mode: 0o600, flag: "wx" });
        kept.set(
          path,
          clock.setTimeout(() => void remove(path).catch(() => undefined), KEEP_MS),
        );
        return path;
      } catch (error) {
        return unavailable("the audio file cannot be written; check the disk of the state directory", { cause: error });
      }
    },

    async clean(dryRun) {
      let count = 0;
      for (const name of await readdir(place()).catch(() => [])) {
        const path = join(place(), name);
        const facts = await stat(path).catch(() => undefined);
        if (!facts || clock.now() - facts.mtimeMs < KEEP_MS) continue;
        count += 1;
        if (!dryRun) await remove(path);
      }
      return count;
    },

    async close() {
      for (const cancel of kept.values()) cancel();
      kept.clear();
      if (opened) await rm(place(), { recursive: true, force: true });
    },
  };
}

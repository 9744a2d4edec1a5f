/** Notes to post after a restart, stored in a file until then. Spec: protocol/stores.md §8. */
import { readFile, rm } from "node:fs/promises";
import { type Logger, matches, type Static, Turns, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { RestartNote, RestartNotes } from "@svc/sdk/gateway";

const optionalText = Type.Optional(Type.String());
const textOrNull = Type.Union([Type.String(), Type.Null()]);

/** Choice: fields that other writers of this file omit are optional, so that their message is not lost. */
const Payload = Type.Object({
  kind: Type.String({ description: "config-apply, config-patch, update or restart" }),
  status: Type.String({ description: "ok, error or skipped" }),
  ts: Type.Number({ description: "epoch ms" }),
  sessionKey: optionalText,
  message: Type.Optional(textOrNull),
  doctorHint: Type.Optional(textOrNull),
  stats: Type.Optional(Type.Unknown()),
});

/** Maximum number of notes posted after one restart. Choice: the newest; without a restart notes must not pile up. */
const MOST_NOTES = 20;

/**
 * `earlier`: notes of other callers who joined the same restart. Choice: the field is an addition; no message is lost.
 */
const SentinelFile = Type.Object({
  version: Type.Literal(1),
  payload: Payload,
  earlier: Type.Optional(Type.Array(Payload)),
});

/** The file `restart-sentinel.json`. */
export interface Sentinel extends RestartNotes {
  /** Passes the stored notes to `tell`, oldest first, then removes the file. A torn file is logged and removed. @throws Error the file cannot be read */
  consume(tell: (note: RestartNote) => Promise<void>): Promise<void>;
}

export function createSentinel(pathOf: () => string, log: Logger): Sentinel {
  /** Serialises writes: two writers would overwrite each other's note. */
  const turns = new Turns();

  /** The stored notes, oldest first. @throws Error the file exists and cannot be read: it stays */
  async function kept(path: string): Promise<RestartNote[]> {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return [];
    const file = parse(text);
    if (!file) {
      log.warn({ path, text: text.slice(0, 500) }, "the file of notes for after the restart is invalid and is removed");
      return [];
    }
    return [...(file.earlier ?? []), file.payload];
  }

  return {
    get path() {
      return pathOf();
    },
    keep(payload) {
      const path = pathOf();
      return turns.take(path, async () => {
        const earlier = (await kept(path)).filter(({ message }) => message).slice(1 - MOST_NOTES);
        const file = { version: 1, payload, ...(earlier.length > 0 ? { earlier } : {}) };
        await replaceFile(path, `${JSON.stringify(file, null, 2)}\n`);
      });
    },
    consume(tell) {
      const path = pathOf();
      return turns.take(path, async () => {
        for (const payload of await kept(path)) await tell(payload);
        await rm(path, { force: true }); // after posting: a crash in between posts a note twice, but never loses one
      });
    },
  };
}

function parse(text: string): Static<typeof SentinelFile> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return matches(SentinelFile, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

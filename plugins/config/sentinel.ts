/** What a restart is to tell whom, kept in a file over that restart. Spec: protocol/stores.md §8. */
import { readFile, rm } from "node:fs/promises";
import { type Logger, matches, type Static, Turns, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { RestartNote, RestartNotes } from "@svc/sdk/gateway";

const optionalText = Type.Optional(Type.String());
const textOrNull = Type.Union([Type.String(), Type.Null()]);

/** Choice: what other writers of this file leave out is no reason to lose their message. */
const Payload = Type.Object({
  kind: Type.String({ description: "config-apply, config-patch, update or restart" }),
  status: Type.String({ description: "ok, error or skipped" }),
  ts: Type.Number({ description: "epoch ms" }),
  sessionKey: optionalText,
  message: Type.Optional(textOrNull),
  doctorHint: Type.Optional(textOrNull),
  stats: Type.Optional(Type.Unknown()),
});

/** Notes one restart may tell. Choice: the newest; what nobody restarts for is told some day, and must not pile up. */
const MOST_NOTES = 20;

/** `earlier`: what others wanted told who joined the same restart. Choice: an addition, so that no message is lost. */
const SentinelFile = Type.Object({
  version: Type.Literal(1),
  payload: Payload,
  earlier: Type.Optional(Type.Array(Payload)),
});

/** The file `restart-sentinel.json`. */
export interface Sentinel extends RestartNotes {
  /** Hands what is kept to `tell`, oldest first, and removes the file afterwards. A torn file is logged and removed. @throws Error the file cannot be read */
  consume(tell: (note: RestartNote) => Promise<void>): Promise<void>;
}

export function createSentinel(pathOf: () => string, log: Logger): Sentinel {
  /** Two writers would overwrite each other's message. */
  const turns = new Turns();

  /** What is kept, oldest first. @throws Error there is a file and it cannot be read: it stays */
  async function kept(path: string): Promise<RestartNote[]> {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return [];
    const file = parse(text);
    if (!file) {
      log.warn({ path, text: text.slice(0, 500) }, "the restart sentinel is not readable as one; it is removed");
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
        await rm(path, { force: true }); // after the telling: a crash in between tells twice, never not at all
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

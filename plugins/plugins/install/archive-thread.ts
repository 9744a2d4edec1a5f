/** Starts the thread that looks into an archive, and waits for it: whoever installs, e.g. a gateway, goes on meanwhile. */
import { messageOf } from "@svc/sdk/errors";
import { Worker } from "node:worker_threads";
import type { ArchiveContent } from "./archive.ts";
import { InstallFailure } from "./failure.ts";

const NEXT = "tell whoever made the package, or get it from where it was published";

/** What the thread answers. */
export type ArchiveAnswer = { readonly content: ArchiveContent } | { readonly refusal: string };

/** Choice: milliseconds for one archive; the largest that is allowed takes a few seconds. */
const MAX_MS = 60_000;

export interface ArchiveThreadOptions {
  readonly start?: (file: string) => Worker;
  /** Default 60000. */
  readonly timeoutMs?: number;
}

function startWorker(file: string): Worker {
  const url = new URL("./archive-worker.js", import.meta.url); // beside this file both compiled and bundled
  const resourceLimits = { maxOldGenerationSizeMb: 256 };
  return new Worker(url, { name: "plugin archive", workerData: { file }, execArgv: [], env: {}, resourceLimits });
}

/** @throws InstallFailure at `archive` */
export async function lookInto(
  file: string,
  { start = startWorker, timeoutMs = MAX_MS }: ArchiveThreadOptions = {},
): Promise<ArchiveContent> {
  const worker = start(file);
  let timer: NodeJS.Timeout | undefined;
  try {
    const answer = await new Promise<ArchiveAnswer>((resolve) => {
      timer = setTimeout(() => resolve({ refusal: `looking into it took longer than ${timeoutMs} ms` }), timeoutMs);
      worker.once("message", resolve);
      worker.once("error", (error) => resolve({ refusal: messageOf(error) }));
      worker.once("exit", () => resolve({ refusal: "the thread that looked into it ended without an answer" }));
    });
    if ("refusal" in answer) throw new InstallFailure("archive", `it is not unpacked: ${answer.refusal}`, NEXT);
    return answer.content;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

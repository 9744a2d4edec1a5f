/**
 * Starts the thread that inspects an archive and waits for it without blocking the installing process, e.g. a gateway.
 */
import { messageOf } from "@svc/sdk/errors";
import { Worker } from "node:worker_threads";
import type { ArchiveContent } from "./archive.ts";
import { InstallFailure } from "./failure.ts";

const NEXT = "report it to the author of the package, or download it from its publisher";

/** Message from the thread. */
export type ArchiveAnswer = { readonly content: ArchiveContent } | { readonly refusal: string };

/** Choice: milliseconds for one archive; the largest allowed one takes a few seconds. */
const MAX_MS = 60_000;

export interface ArchiveThreadOptions {
  readonly start?: (file: string) => Worker;
  /** Default 60000. */
  readonly timeoutMs?: number;
}

function startWorker(file: string): Worker {
  const url = new URL("./archive-worker.js", import.meta.url); // next to this file both when compiled and when bundled
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
      timer = setTimeout(() => resolve({ refusal: `inspecting it took longer than ${timeoutMs} ms` }), timeoutMs);
      worker.once("message", resolve);
      worker.once("error", (error) => resolve({ refusal: messageOf(error) }));
      worker.once("exit", () => resolve({ refusal: "the inspecting thread ended without a result" }));
    });
    if ("refusal" in answer) throw new InstallFailure("archive", `not unpacked: ${answer.refusal}`, NEXT);
    return answer.content;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

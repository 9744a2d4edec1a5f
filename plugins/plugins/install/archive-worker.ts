/** Entry of the thread that inspects one archive and ends. */
import { messageOf } from "@svc/sdk/errors";
import { parentPort, workerData } from "node:worker_threads";
import { readArchive } from "./archive.ts";
import type { ArchiveAnswer } from "./archive-thread.ts";

const { file } = workerData as { readonly file: string }; // set by archive-thread.ts
const answer: ArchiveAnswer = await readArchive(file).then(
  (content) => ({ content }),
  (error: unknown) => ({ refusal: messageOf(error) }),
);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
parentPort?.postMessage(answer);

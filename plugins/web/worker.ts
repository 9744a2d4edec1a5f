/** Entry point of the thread that reads one page. It needs no time limit, because the gateway ends it. */
import { parentPort, workerData } from "node:worker_threads";
import { readPage } from "./article.ts";
import type { PageAnswer, PageQuestion } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("worker.ts runs as a worker thread only");
const say = (answer: PageAnswer) => port.postMessage(answer);
const question = workerData as PageQuestion; // set by extraction.ts
for (const page of readPage(question)) say({ page });
say("end");

/** Entry point of the database thread: answers reads at once; writes that arrive together share a commit. */
import type { OwnStatement } from "@svc/kit/sql";
import { parentPort, workerData } from "node:worker_threads";
import { appendFiles } from "./append-file.ts";
import { type Database, openDatabase } from "./database.ts";
import { failureOf } from "./failures.ts";
import type {
  AloneWork,
  Answer,
  DatabaseOptions,
  Instruction,
  MigrateWork,
  Outcome,
  OwnWork,
  ReplayWork,
  Report,
  Request,
  SpaceWork,
  TransactionWork,
} from "./messages.ts";

type Write = (TransactionWork | MigrateWork | ReplayWork | OwnWork | AloneWork | SpaceWork) & { readonly id: number };

/**
 * Maximum transactions of one commit, and maximum milliseconds in which the commit accepts more: reads wait meanwhile.
 */
const MAX_GROUP = 256;
const MAX_GROUP_MS = 20;
/** Milliseconds after which finished reads are sent while other reads of the same tick are still pending. */
const MAX_READ_MS = 5;

const port = parentPort;
if (port === null) throw new Error("worker.ts runs as a worker thread only");
const send = (report: Report) => port.postMessage(report);

function isRead(request: Request): request is Exclude<Request, Write> {
  return request.kind === "all" || request.kind === "get";
}

function outcomeOf(work: () => Outcome): Outcome {
  try {
    return work();
  } catch (thrown) {
    return { failure: failureOf(thrown) };
  }
}

function serve(database: Database): void {
  const writes: Write[] = [];
  let scheduled = false;
  let closing = false;

  const answer = (answers: readonly Answer[]) => {
    if (answers.length > 0) send({ kind: "answers", answers, commits: database.group.commits });
  };

  function accept(requests: readonly Request[]): void {
    let answers: Answer[] = [];
    let since = performance.now();
    for (const request of requests) {
      if (!isRead(request)) {
        writes.push(request);
        continue;
      }
      answers.push({ id: request.id, ...outcomeOf(() => ({ value: database.read(request) })) });
      if (performance.now() - since < MAX_READ_MS) continue;
      answer(answers);
      answers = [];
      since = performance.now();
    }
    answer(answers);
  }

  /** Runs the first write, together with the transactions right after it. */
  function runWrites(): void {
    const [first] = writes;
    if (first === undefined) return;
    if (first.kind !== "transaction") {
      let isMore = false;
      const outcome = outcomeOf(() => {
        if (first.kind === "space") return { value: database.space(first) };
        if (first.kind === "alone") return { value: database.replay.isAlone() };
        if (first.kind === "own") return { value: database.replay.own() };
        if (first.kind === "migrate") database.migrate(first);
        else isMore = database.replay.step(first.until);
        return { value: undefined };
      });
      if (isMore) return; // the next turn continues, after reads
      writes.shift();
      answer([{ id: first.id, ...outcome }]);
      return;
    }
    const group: (readonly OwnStatement[])[] = [];
    for (const write of writes) {
      if (write.kind !== "transaction" || group.length === MAX_GROUP) break;
      group.push(write.statements);
    }
    const began = performance.now();
    const outcomes = database.group.run(group, () => performance.now() - began < MAX_GROUP_MS);
    const done = writes.splice(0, outcomes.length);
    answer(outcomes.map((outcome, index) => ({ id: done[index]?.id ?? -1, ...outcome })));
  }

  /** Runs in the check phase of the event loop, after all pending messages have been received. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      runWrites();
      if (writes.length > 0) schedule();
      else if (closing) close();
    });
  }

  function close(): void {
    database.close();
    send({ kind: "closed" });
    port?.close();
  }

  port?.on("message", (instruction: Instruction) => {
    if (instruction.kind === "close") closing = true;
    else accept(instruction.requests);
    if (closing || writes.length > 0) schedule();
  });
}

/** Runs everything that was appended before. @returns whether some of it could not run now */
function catchUp({ replay }: Database, { file, appending, isOwner }: DatabaseOptions): boolean {
  if (!isOwner && appending === undefined && appendFiles(file).length === 0) return false;
  try {
    const next = replay.own();
    if (next === undefined) return appending !== undefined; // the files are of another process
    while (replay.step({ file: appending ?? next - 1, bytes: Number.POSITIVE_INFINITY }));
    return false;
  } catch (thrown) {
    if (failureOf(thrown).code !== "UNAVAILABLE") throw thrown;
    return true; // the disk is full: reads still work
  }
}

try {
  const options = workerData as DatabaseOptions; // set by storage.ts
  const database = openDatabase(options, (reason) => send({ kind: "skipped", reason }));
  const isBehind = catchUp(database, options);
  serve(database);
  send({ kind: "ready", isBehind });
} catch (thrown) {
  send({ kind: "failed", message: thrown instanceof Error ? thrown.message : String(thrown) });
}

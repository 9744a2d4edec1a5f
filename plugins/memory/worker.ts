/** Entry of the index thread: handles several requests concurrently. */
import { parentPort, workerData } from "node:worker_threads";
import { createEmbed } from "./embedding/embeddings-api.ts";
import { createEngine } from "./engine/engine.ts";
import type { Instruction, Questions, Kind, Report, ThreadData } from "./engine/protocol.ts";
import { Damaged, failureOf } from "./index/database.ts";

const port = parentPort;
if (port === null) throw new Error("worker.ts runs as a worker thread only");
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
const send = (report: Report) => port.postMessage(report);

const { file, isFresh } = workerData as ThreadData; // plugin.ts passes it
const engine = createEngine({
  file,
  isFresh,
  note: (message) => send({ kind: "note", message }),
  embed: createEmbed(),
});
const inFlight = new Map<number, AbortController>();

function ask(instruction: Exclude<Instruction, { kind: "abort" | "close" }>, signal: AbortSignal) {
  switch (instruction.kind) {
    case "search":
      return engine.search(instruction.memory, instruction.query, signal);
    case "sync":
      return engine.sync(instruction.memory, instruction.force, signal);
    case "figures":
      return engine.figures(instruction.memory);
    case "probe":
      return engine.probe(instruction.endpoint, signal);
    case "keep":
      return engine.keep(instruction.agentIds);
  }
}

async function answer(instruction: Exclude<Instruction, { kind: "abort" | "close" }>): Promise<void> {
  const { id } = instruction;
  const controller = new AbortController();
  inFlight.set(id, controller);
  try {
    const value: Questions[Kind]["answer"] = await ask(instruction, controller.signal);
    send({ kind: "answer", id, value });
  } catch (thrown) {
    if (thrown instanceof Damaged) return send({ kind: "damaged", id, message: thrown.message });
    const known = failureOf(thrown);
    const message = known ?? (thrown instanceof Error ? thrown.message : String(thrown));
    send({ kind: "failure", id, message, isKnown: known !== undefined });
  } finally {
    inFlight.delete(id);
  }
}

port.on("message", (instruction: Instruction) => {
  if (instruction.kind === "abort") inFlight.get(instruction.id)?.abort();
  else if (instruction.kind === "close") void engine.close().finally(() => port.close());
  else void answer(instruction);
});

/** Code of a serving thread: serves calls of one transform, any number at a time. */
import type { MessagePort } from "node:worker_threads";
import { invoke, type Timing } from "./invoke.ts";
import { createLoader } from "./load.ts";
import type { ServeReport, ServeRequest, ServeTask } from "./messages.ts";
import { type LoadedTransform, pickTransform } from "./pick.ts";
import { describeThrown } from "./problem.ts";

export async function serve(task: ServeTask, port: MessagePort, clock: Timing): Promise<void> {
  const { copy, module } = task;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
  const report = (message: ServeReport) => port.postMessage(message);

  async function answer(loaded: LoadedTransform, { id, call, timeoutMs }: ServeRequest): Promise<void> {
    try {
      report({ kind: "answer", id, outcome: await invoke(loaded, call, timeoutMs, clock) });
    } catch (error) {
      const stack = error instanceof Error ? error.stack : undefined;
      report({ kind: "threw", id, problem: describeThrown(error, copy.place), stack });
    }
  }

  try {
    const load = await createLoader(copy);
    const loaded = pickTransform(await load(module), task.export, module);
    port.on("message", (request: ServeRequest) => void answer(loaded, request));
    report({ kind: "ready" });
  } catch (error) {
    report({ kind: "failed", problem: describeThrown(error, copy.place) });
  }
}

/** A watcher process, and what it saw since it was asked last. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Target } from "./target.ts";
import type { Watched } from "./watcher.ts";

/** Starts a program of this directory. */
export function start(script: string, argument: object): ChildProcess {
  const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url));
  return spawn(process.execPath, [path, JSON.stringify(argument)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

/** @throws Error when it ended by itself before */
export async function end(child: ChildProcess): Promise<void> {
  const { exitCode, signalCode } = child;
  if (exitCode !== null || signalCode !== null)
    throw new Error(`a process of the campaign ended early with ${exitCode ?? signalCode}`);
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** A client in a process of its own that calls `health` and connects anew all the time. */
export class Watching {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(target: Pick<Target, "url" | "token">): Promise<Watching> {
    const child = start("watcher", target);
    await once(child, "message");
    return new Watching(child);
  }

  /** What it saw since the last time; waits for its calls under way. */
  async next(): Promise<Watched> {
    const answer = once(this.#child, "message");
    this.#child.send("next");
    const [figures] = (await answer) as [Watched];
    return figures;
  }

  end(): Promise<void> {
    return end(this.#child);
  }
}

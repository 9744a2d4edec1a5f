/** A watcher process, and its measurements since the last request. */
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

/** @throws Error the process has already ended by itself */
export async function end(child: ChildProcess): Promise<void> {
  const { exitCode, signalCode } = child;
  if (exitCode !== null || signalCode !== null)
    throw new Error(`a process of the campaign ended early with ${exitCode ?? signalCode}`);
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** A client in its own process that continuously calls `health` and opens connections. */
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

  /** Its measurements since the last request; waits for its calls in flight. */
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

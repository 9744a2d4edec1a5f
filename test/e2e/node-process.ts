/** `svc node run` in its own process, as a user starts it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { root } from "../checkout.ts";
import { cleanEnvironment } from "../gateway-process.ts";

/** A printed line. */
export type Told = Readonly<Record<string, unknown>> & { readonly state: string };

export interface NodeProcess {
  readonly child: ChildProcess;
  readonly told: readonly Told[];
  /** The complete output. */
  output(): string;
  /** The first line of this state after the first `skip` ones. @throws Error with the output if it ends before */
  until(state: string, skip?: number): Promise<Told>;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

/** Killed with the test. @param env variables added to a clean environment */
export function startNodeProcess(
  t: TestContext,
  stateDir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): NodeProcess {
  const child = spawn(process.execPath, [join(root, "host/cli/svc.js"), "node", "run", "--json", ...args], {
    env: cleanEnvironment(stateDir, env),
    cwd: stateDir,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const told: Told[] = [];
  const looking = new Set<() => void>();
  let printed = "";
  child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  createInterface(child.stdout).on("line", (line) => {
    printed += `${line}\n`;
    told.push(JSON.parse(line) as Told);
    for (const look of looking) look();
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return {
    child,
    told,
    ended,
    output: () => printed,
    until: (state, skip = 0) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = told.filter((one) => one.state === state).at(skip);
          if (!found) return;
          looking.delete(look);
          resolve(found);
        };
        looking.add(look);
        look();
        void ended.then((code) => reject(new Error(`it ended with ${code} and never was ${state}: ${printed}`)));
      }),
  };
}

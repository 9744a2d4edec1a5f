/** Starts the threads and processes that plugins run in. */
import { fork } from "node:child_process";
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { type Thread, threadOf } from "./thread.ts";
import type { Permissions } from "../kernel/manifest.ts";
import type { GuestTask } from "./contract.ts";
import { environmentOf, permissionFlags } from "./permission-flags.ts";

/** The host side of a guest's thread or process. */
export interface Carrier extends Omit<Thread, "end"> {
  /** Terminates it at once. Safe to call twice. */
  end(): void;
}

export interface GuestOptions {
  readonly id: string;
  readonly placement: "worker" | "process";
  readonly task: GuestTask;
  /** Directory of its package. */
  readonly directory: string;
  /** Private directory of the plugin. */
  readonly stateDir: string;
  readonly memoryMb: number;
  readonly permissions: Permissions;
}

const GUEST = "./isolation-guest.js"; // next to this file, both compiled and bundled

export function startCarrier(options: GuestOptions): Carrier {
  mkdirSync(options.stateDir, { recursive: true, mode: 0o700 });
  mkdirSync(options.task.cacheDir, { recursive: true, mode: 0o700 });
  return options.placement === "worker" ? startThread(options) : startProcess(options);
}

function startThread({ id, task, memoryMb }: GuestOptions): Carrier {
  const worker = new Worker(new URL(GUEST, import.meta.url), {
    name: `plugin-${id}`,
    workerData: task,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.max(8, memoryMb / 8) },
  });
  worker.unref(); // a plugin must not keep the gateway's process alive
  return threadOf(worker, ({ code, message }) =>
    code === "ERR_WORKER_OUT_OF_MEMORY" ? tooMuch(memoryMb) : `it threw: ${message}`,
  );
}

function startProcess({ task, directory, stateDir, memoryMb, permissions }: GuestOptions): Carrier {
  const guest = fileURLToPath(new URL(GUEST, import.meta.url));
  const flags = permissionFlags({
    code: [...codeDirectories(guest, directory), ...task.kinds.map((file) => dirname(realpathSync(file)))],
    own: [stateDir, task.cacheDir].map((path) => realpathSync(path)),
    permissions,
  });
  const child = fork(guest, [JSON.stringify(task)], {
    execArgv: [
      "--disable-warning=ExperimentalWarning",
      "--disable-warning=SecurityWarning",
      `--max-old-space-size=${memoryMb}`,
      ...flags,
    ],
    env: environmentOf(permissions, process.env),
    cwd: stateDir,
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  child.unref();
  child.channel?.unref();
  let failure: string | undefined;
  child.on("error", (error) => (failure ??= error.message));
  return {
    post: (message) => void child.send(message as never, () => undefined), // a closed channel is reported by `exit`
    onMessage: (received) => void child.on("message", received),
    onEnd: (ended) => void child.once("exit", (code, signal) => ended(failure ?? endOf(code, signal, memoryMb))),
    end: () => void child.kill("SIGKILL"),
  };
}

/** Message for a guest that exceeded its memory limit. */
export function tooMuch(memoryMb: number): string {
  return `it used more than ${memoryMb} MiB of memory`;
}

/** Message for the end of a process. The runtime aborts a process whose heap is full. */
function endOf(code: number | null, signal: string | null, memoryMb: number): string {
  if (signal === "SIGABRT" || code === 134)
    return `its process was aborted, most likely because it used more than ${memoryMb} MiB of memory`;
  return signal === null ? `it ended its process (exit code ${code})` : `its process was ended by ${signal}`;
}

/** Directories that must be readable to import the guest and the plugin: the host, the SDK, the package and its dependencies. */
function codeDirectories(guest: string, directory: string): string[] {
  const host = dirname(guest).endsWith("carriers") ? dirname(dirname(guest)) : dirname(guest);
  const require = createRequire(guest);
  const packages = ["@svc/sdk", "jiti"].map((name) => dirname(require.resolve(`${name}/package.json`)));
  const real = realpathSync(directory);
  return [host, ...packages, directory, real, ...[host, directory, real].flatMap((path) => modulesAbove(path))];
}

/** Every `node_modules` in which imports of a package may be resolved. */
function modulesAbove(directory: string): string[] {
  const found: string[] = [];
  for (let at = directory; dirname(at) !== at; at = dirname(at)) {
    const modules = join(at, "node_modules");
    if (existsSync(modules)) found.push(modules);
  }
  return found;
}

/** Starts the threads and processes that plugins run in, watches that they live, and ends them. */
import { fork } from "node:child_process";
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { GatewayError } from "@svc/sdk/errors";
import type { Permissions } from "../kernel/manifest.ts";
import type { Beat, GuestSide, GuestTask } from "./contract.ts";
import { Link, type LinkOptions } from "./link.ts";
import { environmentOf, permissionFlags } from "./permission-flags.ts";

/** A thread or process, and what can be said to it. */
export interface Carrier {
  post(message: unknown): void;
  onMessage(received: (message: unknown) => void): void;
  /** Called once, with why it ended, for people. */
  onEnd(ended: (reason: string) => void): void;
  /** Ends it whatever it is doing. Safe to call twice. */
  end(): void;
}

export interface GuestOptions {
  readonly id: string;
  readonly placement: "worker" | "process";
  readonly task: GuestTask;
  /** Of its package. */
  readonly directory: string;
  /** Private directory of the plugin. */
  readonly stateDir: string;
  readonly memoryMb: number;
  readonly permissions: Permissions;
}

const GUEST = "./isolation-guest.js"; // beside this file both compiled and bundled
/** Milliseconds between two questions whether it lives. */
const BEAT_MS = 1_000;
/** Milliseconds it may be silent: its thread is blocked then. */
const STALL_MS = 5_000;

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
  worker.unref(); // whether the gateway goes on is not for a plugin to say
  let failure: string | undefined;
  worker.on("error", (error: Error & { code?: string }) => {
    failure ??= error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooMuch(memoryMb) : `it threw: ${error.message}`;
  });
  worker.on("messageerror", () => void worker.terminate()); // an answer is lost for good
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    post: (message) => worker.postMessage(message),
    onMessage: (received) => void worker.on("message", received),
    onEnd: (ended) => void worker.once("exit", (code) => ended(failure ?? `it ended its thread (exit code ${code})`)),
    end: () => void worker.terminate(),
  };
}

function startProcess({ task, directory, stateDir, memoryMb, permissions }: GuestOptions): Carrier {
  const guest = fileURLToPath(new URL(GUEST, import.meta.url));
  const flags = permissionFlags({
    code: codeDirectories(guest, directory),
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
    post: (message) => void child.send(message as never, () => undefined), // a closed channel is told by `exit`
    onMessage: (received) => void child.on("message", received),
    onEnd: (ended) => void child.once("exit", (code, signal) => ended(failure ?? endOf(code, signal, memoryMb))),
    end: () => void child.kill("SIGKILL"),
  };
}

function tooMuch(memoryMb: number): string {
  return `it used more than ${memoryMb} MiB of memory`;
}

/** The runtime aborts a process whose heap is full. */
function endOf(code: number | null, signal: string | null, memoryMb: number): string {
  if (signal === "SIGABRT" || code === 134)
    return `its process was aborted, most likely because it used more than ${memoryMb} MiB of memory`;
  return signal === null ? `it ended its process (exit code ${code})` : `its process was ended by ${signal}`;
}

/** What has to be readable for the guest and the plugin to be imported: the host, the SDK, the package and what it depends on. */
function codeDirectories(guest: string, directory: string): string[] {
  const host = dirname(guest).endsWith("isolation") ? dirname(dirname(guest)) : dirname(guest);
  const require = createRequire(guest);
  const packages = ["@svc/sdk", "jiti"].map((name) => dirname(require.resolve(`${name}/package.json`)));
  const real = realpathSync(directory);
  return [host, ...packages, directory, real, ...[host, directory, real].flatMap((path) => modulesAbove(path))];
}

/** Every `node_modules` that imports of a package may lead to. */
function modulesAbove(directory: string): string[] {
  const found: string[] = [];
  for (let at = directory; dirname(at) !== at; at = dirname(at)) {
    const modules = join(at, "node_modules");
    if (existsSync(modules)) found.push(modules);
  }
  return found;
}

/** A plugin's thread or process that is up. */
export class Guest {
  readonly #id: string;
  readonly #carrier: Carrier;
  readonly #link: Link;
  readonly #ended: Promise<string>;
  #stopBeating: (() => void) | undefined;
  #reason: string | undefined;
  beat: Beat | undefined;

  constructor(id: string, carrier: Carrier, options: Omit<LinkOptions, "post"> = {}) {
    this.#id = id;
    this.#carrier = carrier;
    this.#link = new Link({ post: (message) => carrier.post(message), ...options });
    carrier.onMessage((message) => this.#link.receive(message));
    this.#ended = new Promise((resolve) => {
      carrier.onEnd((reason) => {
        this.#reason ??= reason;
        this.#fallSilent();
        resolve(this.#reason);
      });
    });
  }

  /** Resolves with why it ended. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** @throws Error it ended before it could say a word */
  async side(): Promise<GuestSide> {
    const root = await Promise.race([this.#link.root, this.#ended]);
    if (typeof root === "string") throw new Error(root);
    return root as GuestSide; // offered by isolation-guest.ts
  }

  /** Asks it all the time how it is, and ends it when it does not answer. @param live services that changed since the last time */
  watch(side: GuestSide, memoryMb: number, live: () => Readonly<Record<string, unknown>>): void {
    let askedAt: number | undefined;
    let lastLook = performance.now();
    const look = () => {
      const now = performance.now();
      const slept = now - lastLook > 2 * BEAT_MS; // this process itself was stopped or busy: nobody could be heard
      lastLook = now;
      if (askedAt !== undefined) {
        if (slept) askedAt = now;
        else if (now - askedAt > STALL_MS) this.end(`it blocked its thread for more than ${STALL_MS / 1_000} s`);
        return;
      }
      askedAt = now;
      side.beat(live()).then(
        (beat) => {
          askedAt = undefined;
          this.beat = beat;
          if (beat.memoryBytes > memoryMb * 2 ** 20 * HEADROOM) this.end(tooMuch(memoryMb));
        },
        () => undefined, // it ended, which is told otherwise
      );
    };
    const timer = setInterval(look, BEAT_MS);
    timer.unref();
    this.#stopBeating = () => clearInterval(timer);
  }

  /** @param reason why, when it is not asked for */
  end(reason = "it was stopped"): void {
    this.#reason ??= reason;
    this.#fallSilent();
    this.#carrier.end();
  }

  /** Whoever waits for it is told that it may be there again later. */
  #fallSilent(): void {
    this.#stopBeating?.();
    const message = `plugin ${this.#id} is not running: ${this.#reason ?? "it ended"}`;
    this.#link.close(new GatewayError("UNAVAILABLE", message, { retryAfterMs: 1_000 }));
  }
}

/** Buffers and the runtime itself come on top of the heap. */
const HEADROOM = 2;

/** Servers in their own processes: starts them on their core, queries their resource use, and stops them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onServerCore } from "./machine.ts";
import type { Question, Usage } from "./servers/control.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  /** Address announced by the server, e.g. `ws://127.0.0.1:1234`. */
  readonly url: string;
  /** Only for scripts in `servers/`. @throws Error no answer within 5 seconds */
  ask(question: Question): Promise<Usage>;
  /** Resolves when the process has ended. Safe to call twice. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Command-line options of Node. */
  readonly nodeFlags?: readonly string[];
  /** Keep a channel for `ask`. Default true. */
  readonly control?: boolean;
}

const READY_MS = 20_000;
const ANSWER_MS = 5_000;
const STOP_MS = 4_000;

const running = new Set<ChildProcess>();

/** Kills every running server; used when a run is aborted. */
export function killServers(): void {
  for (const child of running) child.kill("SIGKILL");
}

// However this process ends, its servers end with it.
process.on("exit", killServers);

/** Path of a compiled script in `servers/`. */
export function serverScript(name: string): string {
  return fileURLToPath(new URL(`./servers/${name}.js`, import.meta.url));
}

/** Environment of every server: contains neither the user's gateway nor the user's home. */
export function serverEnvironment(home: string): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: home, NODE_ENV: "production" };
}

/**
 * Runs `node <argv>` and waits for the line of JSON with its `url`.
 * @throws Error with its output, when it ends first or is not ready within 20 seconds
 */
export async function startServer(argv: readonly string[], options: ServerOptions = {}): Promise<ServerProcess> {
  const { env = serverEnvironment("/nonexistent"), nodeFlags = [], control = true } = options;
  const [command = "", ...args] = onServerCore([process.execPath, ...nodeFlags, ...argv]);
  const child = spawn(command, args, {
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe", ...(control ? (["ipc"] as const) : [])],
  });
  running.add(child);
  const exited = once(child, "exit").then(() => void running.delete(child));
  const url = await announced(child).catch(async (error: unknown) => {
    child.kill("SIGKILL");
    await exited;
    throw error;
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(late);
  };
  return { pid: child.pid ?? 0, url, ask: (question) => ask(child, question), stop, [Symbol.asyncDispose]: stop };
}

async function announced(child: ChildProcess): Promise<string> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("a server needs its output");
  let errors = "";
  stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2_000);
  });
  const line = new Promise<string>((resolve, reject) => {
    createInterface(stdout).once("line", resolve);
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`a server ended with ${code ?? signal}: ${errors.trim()}`)));
  });
  const cancel = new AbortController();
  const late = sleep(READY_MS, undefined, { signal: cancel.signal }).then(
    () => Promise.reject(new Error(`a server was not ready within ${READY_MS} ms: ${errors}`)),
    () => "",
  );
  try {
    const { url } = JSON.parse(await Promise.race([line, late])) as { url: string };
    return url;
  } finally {
    cancel.abort();
  }
}

function ask(child: ChildProcess, question: Question): Promise<Usage> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`a server did not answer "${question}"`)), ANSWER_MS);
    child.once("message", (usage) => {
      clearTimeout(late);
      resolve(usage as Usage); // servers/control.ts sends nothing else
    });
    child.send(question);
  });
}

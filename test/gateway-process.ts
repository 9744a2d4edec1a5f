/** `svc gateway run` in its own process, as a user starts it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect, type ClientOptions, type GatewayClient } from "@svc/sdk/client";
import { root } from "./checkout.ts";

export interface GatewayProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly token: string;
  /** Milliseconds from spawn to the first `hello-ok`. */
  readonly readyMs: number;
  connect(options?: Partial<ClientOptions>): Promise<GatewayClient>;
  /** Its output on standard error so far. */
  log(): string;
  /** Kills it and waits for its end. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Environment of a command that must not find the machine's own gateway. */
export function cleanEnvironment(stateDir: string, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = (name: string) => !name.startsWith("SVC_") || name === "SVC_DATABASE_URL"; // the storage of this run
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => kept(name)));
  return { ...env, SVC_STATE_DIR: stateDir, ...more };
}

export interface ProcessOptions {
  /** Default: the stored token. */
  readonly token?: string;
  /** Default `error`. `configured`: the level of the configuration. */
  readonly logLevel?: string;
  /** Default: a free one. */
  readonly port?: string;
  /** Command that runs it, e.g. one that drops privileges. Default: none. */
  readonly through?: readonly string[];
}

/** @throws Error with its output, when it ends before it is ready */
export async function startGatewayProcess(
  stateDir: string,
  env: Record<string, string> = {},
  { token: given, logLevel = "error", port = "0", through = [] }: ProcessOptions = {},
): Promise<GatewayProcess> {
  const begun = performance.now();
  const [command, ...prefix] = [...through, process.execPath];
  const child = spawn(
    command,
    [
      ...prefix,
      join(root, "host/cli/svc.js"),
      "gateway",
      "run",
      "--port",
      port,
      "--json",
      ...(logLevel === "configured" ? [] : ["--log-level", logLevel]),
    ],
    {
      env: cleanEnvironment(stateDir, env),
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    void exited.then((code) => reject(new Error(`the gateway ended with ${code}: ${errors}`)));
  });
  const { url } = JSON.parse(line) as { url: string };
  const token = given ?? (await readFile(join(stateDir, "credentials/gateway-token"), "utf8")).trim();
  const open = (options: Partial<ClientOptions> = {}) => connect({ url, token, ...options });
  try {
    await (await open()).close();
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  const readyMs = performance.now() - begun;
  return {
    child,
    url,
    token,
    readyMs,
    connect: open,
    log: () => errors,
    kill: (signal = "SIGKILL") => {
      child.kill(signal);
      return exited;
    },
  };
}

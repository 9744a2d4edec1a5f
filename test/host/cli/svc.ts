/** Runs the built command `svc` in its own process, with a temporary state directory. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { root } from "../../checkout.ts";
import { directory, put } from "../../directory.ts";

type Context = Pick<TestContext, "after">;

export interface Home {
  /** `SVC_STATE_DIR` of every command run here. */
  readonly stateDir: string;
  readonly configPath: string;
  svc(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Finished>;
  /** Starts `svc gateway run --port 0 --json` and waits until it is up; killed with the test. @param port replaces `--port 0` */
  run(args?: readonly string[], port?: readonly string[]): Promise<Running>;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  /** The JSON line printed when the gateway is up. */
  readonly ready: { readonly url: string; readonly stateDir: string; readonly [key: string]: unknown };
  readonly port: string;
  readonly pid: number;
  /** The first match in past or future output on stderr. */
  says(pattern: RegExp): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the output and exit code. */
  readonly ended: Promise<Finished>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

/** Milliseconds after which a command that should have ended is killed; its exit code is `null` then. */
const COMMAND_TIMEOUT_MS = 120_000;

/** @param config written to `svc.json`; text as it is, anything else as JSON */
export function home(t: Context, config?: unknown): Home {
  const gateways: ReturnType<typeof collect>[] = [];
  // before the directory is made: node:test runs the hooks in this order, and a gateway must not write while its directory is removed
  t.after(async () => {
    for (const { child } of gateways) child.kill("SIGKILL");
    await Promise.all(gateways.map(({ finished }) => finished));
  });
  const place = directory(t, "svc-cli-");
  const stateDir = join(place, "state");
  const configPath = join(place, "svc.json");
  if (config !== undefined) writeFileSync(configPath, typeof config === "string" ? config : JSON.stringify(config));
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("SVC_") && name !== "NODE_OPTIONS");
  const environment = {
    ...Object.fromEntries(own),
    HOME: place,
    SVC_STATE_DIR: stateDir,
    SVC_CONFIG_PATH: configPath,
  };
  const start = (
    args: readonly string[],
    { env = {}, timeout = 0 }: { env?: Readonly<Record<string, string>>; timeout?: number },
  ) => {
    const options = { cwd: root, env: { ...environment, ...env }, timeout, killSignal: "SIGKILL" } as const;
    return collect(spawn(process.execPath, ["host/cli/svc.js", ...args], options));
  };

  return {
    stateDir,
    configPath,
    svc: (args, env = {}) => start(args, { env, timeout: COMMAND_TIMEOUT_MS }).finished,
    async run(args = [], port = ["--port", "0"]) {
      const gateway = start(["gateway", "run", ...port, "--json", ...args], {});
      gateways.push(gateway);
      const { child, finished, firstLine, says } = gateway;
      const ready = JSON.parse(await firstLine) as Running["ready"];
      const stop = (signal: NodeJS.Signals = "SIGTERM") => {
        child.kill(signal);
        return finished;
      };
      const kill = (signal: NodeJS.Signals) => void child.kill(signal);
      return { ready, port: new URL(ready.url).port, pid: child.pid ?? 0, says, kill, stop, ended: finished };
    },
  };
}

/** Waits for matches in the output of a process. @param ended its exit code */
export function awaited(ended: Promise<number | null>) {
  let text = "";
  const looking = new Set<() => void>();
  return {
    /** @param all the output so far */
    reads(all: string): void {
      text = all;
      for (const look of looking) look();
    },
    /** The first match in past or future output. */
    says: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = () => {
          const [found] = pattern.exec(text) ?? [];
          if (found === undefined) return;
          looking.delete(look);
          resolve(found);
        };
        looking.add(look);
        look();
        void ended.then((code) => reject(new Error(`it ended with ${code} and never said ${pattern}: ${text}`)));
      }),
  };
}

function collect(child: ChildProcess) {
  let stdout = "";
  let stderr = "";
  const finished = once(child, "close").then(([code]): Finished => ({ code: code as number | null, stdout, stderr }));
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      if (stdout.includes("\n")) resolve(stdout.slice(0, stdout.indexOf("\n")));
    });
    void finished.then(({ code }) => reject(new Error(`it ended with ${code}: ${stdout}${stderr}`)));
  });
  firstLine.catch(() => undefined); // only callers that await it handle the rejection
  const output = awaited(finished.then(({ code }) => code));
  child.stderr?.on("data", (chunk: Buffer) => output.reads((stderr += chunk.toString())));
  child.stdin?.end();
  return { child, finished, firstLine, says: output.says };
}

/** Writes a package next to the configuration that adds the verb; its plugin cannot be loaded. @param members of the verb besides its name and summary */
export function writeVerb({ configPath }: Home, id: string, name: string, members: string): void {
  const commands = [{ name, summary: "Greet somebody" }];
  const svc = { id, api: "^1.0.0", entry: "./plugin.ts", cli: "./cli.ts", commands };
  const at = join(dirname(configPath), id);
  put(join(at, "package.json"), JSON.stringify({ name: id, version: "1.0.0", type: "module", svc }));
  put(join(at, "plugin.ts"), 'throw new Error("a command loads no plugin");');
  put(
    join(at, "cli.ts"),
    `import { defineCommands } from "@svc/sdk/cli";
export default defineCommands([{ name: "${name}", summary: "Greet somebody", ${members} }]);`,
  );
}

/** The words of a command line after a shell parsed it. */
export function wordsOf(line: string): readonly string[] {
  return execFileSync("bash", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);
}

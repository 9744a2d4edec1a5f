/** One trial: a temporary gateway with some of the plugins, and the verdict. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { PluginReport } from "@svc/sdk/plugins";

export interface TrialOptions {
  /** The configuration with all placeholders resolved. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The command whose exit code is the verdict; empty: the start of the gateway is the verdict. */
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

export interface Verdict {
  readonly isWell: boolean;
  /** Output or states that led to the verdict. */
  readonly words: string;
}

/** States that count as a failure of the plugin. */
const BAD = new Set(["failed", "quarantined", "blocked"]);

/** Maximum characters of recorded output. */
const KEPT = 4_000;

/** @param use entries of `plugins.use` */
export async function tryWith(use: readonly string[], options: TrialOptions): Promise<Verdict> {
  const directory = await mkdtemp(join(tmpdir(), "svc-bisect-"));
  try {
    const config = join(directory, "svc.json");
    await writeFile(config, JSON.stringify(trialConfig(options.config, use)), { mode: 0o600 });
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("SVC_"));
    const state = join(directory, "state");
    return await run({ ...Object.fromEntries(own), SVC_STATE_DIR: state, SVC_CONFIG_PATH: config }, options);
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The configuration without webhooks: mappings for an omitted plugin would keep the gateway from starting. */
function trialConfig(config: TrialOptions["config"], use: readonly string[]): Record<string, unknown> {
  const plugins = Object(config["plugins"]) as Record<string, unknown>;
  const { load: _load, ...rest } = plugins;
  const hooks = config["hooks"] === undefined ? {} : { hooks: { ...Object(config["hooks"]), enabled: false } };
  return { ...config, ...hooks, plugins: { ...rest, use } };
}

async function run(env: NodeJS.ProcessEnv, { command, timeoutMs }: TrialOptions): Promise<Verdict> {
  const script = process.argv[1] ?? ""; // the running command
  const gateway = start(
    process.execPath,
    [script, "gateway", "run", "--port", "0", "--json", "--log-level", "error"],
    env,
  );
  const late = pause(timeoutMs, "late" as const, { ref: false });
  try {
    const ready = await Promise.race([gateway.ready, gateway.ended, late]);
    if (ready === "late") return { isWell: false, words: `the gateway was not ready after ${timeoutMs / 1_000} s` };
    if (typeof ready === "number")
      return { isWell: false, words: `the gateway ended with ${ready}: ${gateway.said()}` };
    const [program, ...args] = command;
    if (program === undefined) return judge(ready.plugins);
    const child = start(program, args, env);
    const code = await Promise.race([child.ended, late]);
    child.kill();
    const how = code === "late" ? `did not end within ${timeoutMs / 1_000} s` : `ended with ${code}`;
    return { isWell: code === 0, words: `${program} ${how}: ${child.said()}` };
  } finally {
    gateway.kill();
    await gateway.ended;
  }
}

/** The verdict about the states that the gateway reports at startup. */
function judge(reports: Ready["plugins"]): Verdict {
  const bad = reports.filter(({ state }) => BAD.has(state));
  return {
    isWell: bad.length === 0,
    words: bad.map(({ id, state, reason }) => `${id} is ${state}: ${reason ?? ""}`).join("\n"),
  };
}

/** The line that a gateway prints when the gateway is ready. */
interface Ready {
  readonly plugins: readonly PluginReport[];
}

function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-KEPT)));
  const ready = new Promise<Ready>((resolve) => {
    createInterface(child.stdout).on("line", (line) => {
      if (line.startsWith('{"ready":true')) resolve(JSON.parse(line) as Ready);
    });
  });
  const ended = new Promise<number>((resolve) => {
    child.once("error", (error) => {
      said += error.message;
      resolve(127);
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
  return { ready, ended, said: () => said.trim(), kill: () => void child.kill("SIGKILL") };
}

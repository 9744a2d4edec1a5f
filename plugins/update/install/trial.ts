/** Tests whether a version starts: runs it once in its own directory, on an empty state directory and a free port. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { BoundedText, startProgram } from "@svc/kit/exec";
import type { Clock } from "@svc/sdk";
import { versionIn } from "./facts.ts";
import { StepFailed, type Program, type Steps } from "./steps.ts";

export interface TrialOptions {
  readonly steps: Steps;
  readonly node: Program;
  readonly clock: Pick<Clock, "elapsed">;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Ids of the running plugins; empty: the ids are unknown, and the new version runs its default plugins. */
  readonly plugins: readonly string[];
}

/** The line that a ready gateway prints. */
interface Ready {
  readonly version?: unknown;
  readonly plugins?: readonly { readonly id?: string; readonly state?: string; readonly reason?: string }[];
}

/** Milliseconds. Choice: a supervisor would not accept a gateway that takes longer to start, either. */
const LONGEST_START = 120_000;

/** Choice: a plugin that only lacks configuration here (`blocked`, `pending`) is not broken. */
const BROKEN: ReadonlySet<unknown> = new Set(["failed", "quarantined"]);

/** @returns the version that was tested. @throws StepFailed */
export async function proveVersion(hostDirectory: string, options: TrialOptions): Promise<string> {
  const { steps, node } = options;
  const { resolve } = createRequire(join(hostDirectory, "package.json"));
  const script = join(dirname(resolve("@svc/cli/package.json")), "svc.js");
  const state = await mkdtemp(join(tmpdir(), "svc-trial-"));
  try {
    const env = { HOME: state, USERPROFILE: state, SVC_STATE_DIR: state, SVC_CONFIG_PATH: join(state, "svc.json") };
    await writeFile(env.SVC_CONFIG_PATH, JSON.stringify(configOf(knownThere(resolve, options.plugins))), {
      mode: 0o600,
    });
    const said = await steps.run("version", node, [script, "--version"], { cwd: hostDirectory, env });
    const expected = await versionIn(hostDirectory);
    await start(script, env, options);
    return expected ?? said;
  } finally {
    await rm(state, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The plugins that this installation contains. Third-party plugins are installed elsewhere and are not tested. */
function knownThere(resolve: NodeJS.RequireResolve, ids: readonly string[]): readonly string[] {
  return ids.filter((id) => {
    try {
      return resolve(`@svc/plugin-${id}/package.json`) !== "";
    } catch {
      return false;
    }
  });
}

function configOf(plugins: readonly string[]): object {
  return {
    gateway: { bind: "loopback" },
    logging: { level: "error" },
    update: { checkOnStart: false },
    ...(plugins.length > 0 ? { plugins: { use: plugins } } : {}),
  };
}

async function start(script: string, env: Readonly<Record<string, string>>, options: TrialOptions): Promise<void> {
  const { steps, node, clock } = options;
  const cwd = join(script, "..");
  const command = [node.file, ...node.args, script, "gateway", "run", "--port", "0", "--json"];
  const said = { stdout: new BoundedText(), stderr: new BoundedText() };
  const startedAt = clock.elapsed();
  const program = startProgram({
    file: node.file,
    argv: command,
    cwd,
    env: { ...options.env, ...env },
    timeoutMs: Math.min(options.timeoutMs, LONGEST_START),
    signal: options.signal,
    stopReason: "the gateway stops",
    endsWhole: true,
    onOutput(chunk, stream) {
      said[stream].append(chunk);
      if (stream === "stdout" && chunk.includes(10)) program.end("it is ready");
    },
  });
  const { timedOut, error, endedFor } = await program.ended;
  const [stdout, stderr] = [said.stdout.end().text, said.stderr.end().text];
  const fault = endedFor === "it is ready" ? faultOf(stdout) : (error ?? "it ended before it was ready");
  const record = steps.add("start", command, cwd, startedAt, {
    exitCode: fault === undefined ? 0 : 1,
    timedOut,
    stdout: fault === undefined ? "" : stdout,
    stderr,
    truncated: false,
    ...(fault === undefined ? {} : { error: fault }),
  });
  if (fault !== undefined) throw new StepFailed(record, `the new version does not start: ${fault}`);
}

/** @returns the problem in the line of a ready gateway; `undefined`: none */
export function faultOf(stdout: string): string | undefined {
  let ready: Ready;
  try {
    ready = Object(JSON.parse(stdout.split("\n")[0] ?? "")) as Ready;
  } catch {
    return "its output is not JSON";
  }
  const broken = (ready.plugins ?? []).filter(({ state }) => BROKEN.has(state));
  if (broken.length === 0) return undefined;
  return broken.map(({ id, state, reason }) => `plugin ${id} is ${state}${reason ? `: ${reason}` : ""}`).join("; ");
}

/** `svc plugins check [path]`: checks whether a plugin is ready to be published. Prints a line for each check. */
import { EXIT, refuse } from "@svc/cli";
import { messageOf } from "@svc/sdk/errors";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import json5 from "json5";
import type { CommandContext } from "@svc/sdk/cli";
import type { CheckTask } from "./check-task.ts";
import { DONE, failed, type Finding } from "./findings.ts";

export interface CheckFlags {
  /** File with the configuration for the trial run. */
  readonly config?: string;
  /** File with sample params by method. */
  readonly samples?: string;
}

/** Choice: milliseconds for all checks of one plugin. */
const PATIENCE = 120_000;

/** @param place directory of the package @returns 0 if no check failed */
export async function checkPluginAt(
  place: string,
  { config, samples }: CheckFlags,
  output: CommandContext,
): Promise<number> {
  const path = resolve(place);
  if (!existsSync(join(path, "package.json")))
    return refuse(`there is no package.json in ${path}\nNext: svc plugins check <directory of the plugin>`, output);
  const task: CheckTask = {
    directory: realpathSync(path),
    config: (config === undefined ? {} : readJson5(config)) as CheckTask["config"],
    samples: (samples === undefined ? {} : readJson5(samples)) as CheckTask["samples"],
  };
  const findings: Finding[] = [];
  await runChecks(task, (finding) => {
    findings.push(finding);
    if (!output.json) output.print(linesOf(finding).join("\n"));
  });
  const count = (level: string) =>
    findings.flatMap(({ problems }) => problems).filter((one) => one.level === level).length;
  const [failures, warnings] = [count("failed"), count("warning")];
  const warned = `${warnings} warning${warnings === 1 ? "" : "s"}`;
  if (output.json) output.print({ ok: failures === 0, directory: task.directory, checks: findings });
  else output.print(failures === 0 ? `ready to be published (${warned})` : `${failures} failed, ${warned}`);
  return failures === 0 ? 0 : EXIT.refused;
}

/** @throws Error naming the file */
export function readJson5(file: string): unknown {
  try {
    return json5.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`${file} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Runs the checks in a temporary process. If the process ends before the checks are complete, that is a finding, too.
 */
async function runChecks(task: CheckTask, found: (finding: Finding) => void): Promise<void> {
  const program = fileURLToPath(new URL("./check-process.js", import.meta.url));
  const child = fork(program, [JSON.stringify(task)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let isDone = false;
  child.on("message", (message) => {
    if (message === DONE) isDone = true;
    else found(message as Finding); // as check-process.ts sends them
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
  const [[code, signal]] = await Promise.all([once(child, "exit"), once(child, "disconnect")]);
  clearTimeout(timer);
  if (isDone) return;
  const end = `the check process ended early with ${String(code ?? signal)}`;
  const why = signal === "SIGKILL" ? `the checks did not finish within ${PATIENCE / 1_000} s` : end;
  found({ check: "process", problems: [failed(why, "check what the plugin does in setup, start and stop")] });
}

function linesOf({ check, problems }: Finding): string[] {
  if (problems.length === 0) return [`ok       ${check}`];
  return problems.map(({ level, why, next }) => `${level.padEnd(8)} ${check}: ${why}\n         Next: ${next}`);
}

/** Runs `svc`, or another program, in a pseudo-terminal (`script` from util-linux) that accepts input and captures the output. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { root } from "../../checkout.ts";
import { awaited } from "./svc.ts";

export interface PseudoTerminal {
  /** All output so far, without terminal control sequences. */
  shown(): string;
  /** The first match in past or future output. */
  shows(pattern: RegExp): Promise<string>;
  types(text: string): void;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  kill(): void;
}

export const CTRL_C = "\u0003";

const SVC: readonly string[] = [process.execPath, join(root, "host/cli/svc.js")];

/** @param env the whole environment. @param program the command line before `args`. Killed with the test */
export function inTerminal(
  t: { after(work: () => void): void },
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  program = SVC,
): PseudoTerminal {
  const line = [...program, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qefc", `exec ${line}`, "/dev/null"], { env, detached: true });
  let shown = "";
  const ended = once(child, "close").then(([code]) => code as number | null);
  const output = awaited(ended);
  const look = (chunk: Buffer) => {
    shown = `${shown}${stripVTControlCharacters(chunk.toString())}`.replaceAll("\r", "");
    output.reads(shown);
  };
  child.stdout.on("data", look);
  child.stderr.on("data", look);
  const kill = () => void child.kill("SIGKILL"); // closing the terminal ends the program in it
  t.after(kill);
  return {
    shown: () => shown,
    shows: output.says,
    types: (text) => void child.stdin.write(text),
    ended,
    kill,
  };
}

/** Why this machine has no pseudo-terminal for tests; `false` if it has one. */
export function withoutTerminal(): string | false {
  return spawnSync("script", ["--version"], { stdio: "ignore" }).status === 0
    ? false
    : "script (util-linux) is not installed";
}

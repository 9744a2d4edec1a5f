/** `svc onboard` as a person sees it: in a pseudo terminal, made by `script`. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { root } from "../../checkout.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { until } from "../../until.ts";

export interface Screen {
  readonly child: ChildProcess;
  /** Everything shown so far. */
  text(): string;
  /** Waits for a text after the last one that was seen. */
  sees(pattern: RegExp): Promise<void>;
  types(text: string): void;
  readonly ended: Promise<number | null>;
}

export const SVC = [process.execPath, join(root, "host/cli/svc.js")];

/** Runs a command line in a terminal; its exit code is the code of `script`. */
export function terminal(
  t: TestContext,
  stateDir: string,
  words: readonly string[],
  env: Record<string, string>,
): Screen {
  const line = [...SVC, ...words].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["--quiet", "--return", "--command", `exec ${line}`, "/dev/null"], {
    env: cleanEnvironment(stateDir, { TERM: "xterm", ...env }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  let at = 0;
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  t.after(() => child.kill("SIGKILL"));
  return {
    child,
    text: () => text,
    async sees(pattern) {
      await until(() => pattern.test(text.slice(at)), `${pattern} in: ${text.slice(at)}`);
      at = text.length;
    },
    types: (typed) => void child.stdin.write(typed),
    ended,
  };
}

/** Runs `svc` in its own process until it ends. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "./checkout.ts";
import { cleanEnvironment } from "./gateway-process.ts";

const run = promisify(execFile);

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both outputs. */
  readonly text: string;
}

export async function svc(
  stateDir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const command = [join(root, "host/cli/svc.js"), ...args];
  const { code, stdout, stderr } = await run(process.execPath, command, { env: cleanEnvironment(stateDir, env) })
    .then((output) => ({ ...output, code: 0 }))
    .catch((failed: { code: number; stdout: string; stderr: string }) => failed);
  return { code, stdout, stderr, text: stdout + stderr };
}

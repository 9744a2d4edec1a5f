/**
 * Checks that the code of a plugin can be loaded, in a temporary process before anything is switched. The process is no
 * security boundary: it has the rights of this user. It only keeps errors of the plugin away from the gateway.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Manifest } from "@svc/host/local";
import { cut, visible } from "@svc/sdk/cli";
import { matches, Type } from "@svc/sdk";
import { InstallFailure } from "./failure.ts";
import { lastWords } from "./npm.ts";

/** Order for the process. */
export interface TrialOrder {
  readonly directory: string;
  readonly manifest: Pick<Manifest, "id" | "api" | "entry" | "cli" | "commands">;
}

/** Milliseconds for the whole check; importing a plugin takes a fraction of a second. */
const TIMEOUT = 60_000;

/** Maximum heap in MiB: a plugin that needs more memory for its import would also harm the gateway. */
const HEAP = 512;

const Problems = Type.Object({ problems: Type.Array(Type.String()) });

/** @param cwd an empty directory @throws InstallFailure at `trial` */
export async function trial(order: TrialOrder, cwd: string, path: string | undefined): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP}`,
      "--no-warnings",
      "--experimental-import-meta-resolve",
      fileURLToPath(new URL("./install-probe.js", import.meta.url)), // next to this file both when compiled and when bundled
    ],
    { cwd, env: path === undefined ? {} : { PATH: path }, stdio: ["ignore", "pipe", "pipe", "ipc"] },
  );
  const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT);
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-20_000)));
  let answer: unknown;
  child.once("message", (message) => {
    answer = message;
    child.kill("SIGKILL"); // also ends processes that the plugin left running
  });
  const ended = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code === null ? `by ${signal ?? "a signal"}` : `with ${code}`));
  });
  child.send(order, () => undefined); // a vanished process is reported by its end
  const how = await ended.finally(() => clearTimeout(timer));
  const { problems } = matches(Problems, answer) ? answer : { problems: [died(how, said)] };
  if (problems.length === 0) return;
  const lines = problems.map((problem) => cut(problem.split("\n").map(visible).join("\n  "), 2_000));
  throw new InstallFailure("trial", lines.join("\n"), "report it to the author of the plugin; nothing was switched");
}

function died(how: string, said: string): string {
  const words = said.trim() === "" ? "" : `:\n${lastWords(said)}`;
  return `its code ended the process that imported it (${how}; the limit is ${TIMEOUT / 1_000} s)${words}`;
}

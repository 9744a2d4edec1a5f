/**
 * Whether the code of a plugin can be loaded here: tried in a process that is thrown away, before anything is switched.
 * Not a wall: that process may do what this user may; it only cannot break the gateway.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Manifest } from "@svc/host/local";
import { cut, visible } from "@svc/sdk/cli";
import { matches, Type } from "@svc/sdk";
import { InstallFailure } from "./failure.ts";
import { lastWords } from "./npm.ts";

/** What the process is asked. */
export interface TrialOrder {
  readonly directory: string;
  readonly manifest: Pick<Manifest, "id" | "api" | "entry" | "cli" | "commands">;
}

/** Milliseconds of the whole proof; importing a plugin takes a fraction of a second. */
const TIMEOUT = 60_000;

/** MiB of heap: what imports more than this at once would hurt the gateway as well. */
const HEAP = 512;

const Problems = Type.Object({ problems: Type.Array(Type.String()) });

/** @param cwd an empty directory. @throws InstallFailure at `trial` */
export async function trial(order: TrialOrder, cwd: string, path: string | undefined): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP}`,
      "--no-warnings",
      "--experimental-import-meta-resolve",
      fileURLToPath(new URL("./install-probe.js", import.meta.url)), // beside this file both compiled and bundled
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
    child.kill("SIGKILL"); // what it left running ends with it
  });
  const ended = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code === null ? `by ${signal ?? "a signal"}` : `with ${code}`));
  });
  child.send(order, () => undefined); // a process that is gone is told by its end
  const how = await ended.finally(() => clearTimeout(timer));
  const { problems } = matches(Problems, answer) ? answer : { problems: [died(how, said)] };
  if (problems.length === 0) return;
  const lines = problems.map((problem) => cut(problem.split("\n").map(visible).join("\n  "), 2_000));
  throw new InstallFailure("trial", lines.join("\n"), "tell whoever made the plugin; nothing was switched");
}

function died(how: string, said: string): string {
  const words = said.trim() === "" ? "" : `:\n${lastWords(said)}`;
  return `its code ended the process that imported it (${how}; it has ${TIMEOUT / 1_000} s)${words}`;
}

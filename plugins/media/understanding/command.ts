/** Runs the command of a `cli` entry on one file. */
import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { findOnPath, lastLine, ownPlaces, runProgram } from "@svc/kit/exec";
import { unavailable } from "@svc/sdk";
import type { Entry } from "./entries.ts";

/** Variables that programs need to start and to find their models; none of the gateway's secrets. */
const KEPT =
  /^(?:path|home|user|logname|userprofile|appdata|localappdata|systemroot|comspec|pathext|lang|language|lc_\w+|tz|xdg_(?:cache|data|config)_home|ld_library_path|cuda_\w+)$/i;
/** Choice: bytes of a text that the command wrote to a file. */
const MAX_FILE_BYTES = 1_000_000;

/** @param env of the gateway */
function environment(directory: string, env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => KEPT.test(entry[0]) && entry[1] !== undefined,
  );
  return { ...Object.fromEntries(kept), TMPDIR: directory };
}

/**
 * The text that the command prints, or writes to `{{OutputBase}}.txt` or into `{{OutputDir}}`.
 * @param file in a directory of its own, where the command also runs
 * @throws GatewayError `UNAVAILABLE` with the reason; the signal's reason
 */
export async function runCommand(
  { settings, prompt, maxChars }: Entry,
  file: string,
  signal: AbortSignal,
): Promise<string> {
  const { command = "", args = [], language } = settings;
  const directory = dirname(file);
  const base = join(directory, "output");
  const program = isAbsolute(command) ? command : await findOnPath(command, ownPlaces());
  if (program === undefined) return unavailable("this program is not on PATH; install it, or set its absolute path");
  const values: Readonly<Record<string, string>> = {
    MediaPath: file,
    Prompt: prompt ?? "",
    Language: language ?? "auto",
    MaxChars: String(maxChars),
    OutputDir: directory,
    OutputBase: base,
  };
  // One pass: a value is never searched for placeholders.
  const filled = args.map((arg) => arg.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole));
  const argv = [program, ...(args.some((arg) => arg.includes("{{MediaPath}}")) ? filled : [...filled, file])];
  const end = await runProgram({
    file: program,
    argv,
    cwd: directory,
    env: environment(directory, process.env),
    signal,
  });
  signal.throwIfAborted();
  if (end.exitCode !== 0)
    unavailable(`it failed: ${lastLine(end.stderr) || (end.error ?? `exit code ${end.exitCode}`)}`);
  const written = await textIn([`${base}.txt`, file.replace(/\.\w+$/, ".txt"), `${file}.txt`]);
  if (written === undefined && end.truncated) unavailable("it printed too much; print only the text");
  return written ?? end.stdout;
}

/** The first of these files that exists. */
async function textIn(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (!found?.isFile()) continue;
    if (found.size > MAX_FILE_BYTES) unavailable("it wrote too much; write only the text");
    return readFile(path, "utf8");
  }
  return undefined;
}

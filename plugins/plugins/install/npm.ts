/** Runs the npm of this Node installation with the user's own settings only: registry, credentials, proxy, cache. */
import { isAbsolute } from "node:path";
import { findOnPath, type ProgramEnd, type ProgramRun, type runProgram } from "@svc/kit/exec";
import { installerEnvironment, NPM_FLAGS, npmCommand } from "@svc/kit/npm";
import { cut, visible } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { InstallFailure, type InstallStep } from "./failure.ts";

/** Runs an npm command. `cwd` must contain a package.json, so that npm takes no directory above for the project. */
export type Npm = (step: InstallStep, args: readonly string[], cwd: string) => Promise<string>;

/** Milliseconds that downloads and dependencies may take. */
const TIMEOUT = 10 * 60_000;

/** Number of npm output lines that are shown. */
const SHOWN = 20;

/** Runs npm or git: the program with this name on `PATH`, or at this absolute path. */
export type Run = (
  argv: readonly string[],
  options: Pick<ProgramRun, "cwd" | "env" | "timeoutMs">,
) => Promise<ProgramEnd>;

/**
 * @param env source of the variables for npm and git; see `installerEnvironment`
 */
export function createRun(start: typeof runProgram, env: Readonly<Record<string, string | undefined>>): Run {
  const kept = installerEnvironment(env);
  return async (argv, { env: more, ...options }) => {
    const [name = ""] = argv;
    const places = { path: env["PATH"] ?? "", platform: process.platform };
    const file = isAbsolute(name) ? name : await findOnPath(name, places);
    if (file === undefined) throw new Error(`${name} is not on PATH`);
    return start({ ...options, file, argv, env: { ...kept, ...more }, isForeground: true });
  };
}

/** @returns a function that runs npm and returns its output; it throws InstallFailure with npm's own output */
export function createNpm(run: Run): Npm {
  return async (step, args, cwd) => {
    const argv = [...npmCommand(process.execPath), ...args, ...NPM_FLAGS];
    const end = await run(argv, { cwd, env: {}, timeoutMs: TIMEOUT }).catch((error: unknown) => {
      throw new InstallFailure(step, `npm cannot be started: ${messageOf(error)}`, "install npm next to this Node");
    });
    if (end.exitCode === 0) return end.stdout;
    const why = end.timedOut ? `npm did not finish within ${TIMEOUT / 60_000} minutes` : "npm says";
    const words = lastWords(end.stderr || end.stdout || (end.error ?? ""));
    throw new InstallFailure(step, `${why}:\n${words}`, nextAfter(end.stderr), { npm: end.stderr });
  };
}

/** The last lines of a program's output, escaped for a terminal. */
export function lastWords(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.includes("A complete log of this run"));
  return lines
    .slice(-SHOWN)
    .map((line) => `  ${cut(visible(line), 400)}`)
    .join("\n");
}

function nextAfter(said: string): string {
  if (/\bE404\b|\bETARGET\b/.test(said))
    return "check the name and version; npm view <name> versions lists the versions";
  if (/\b(?:ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ECONNRESET)\b/.test(said))
    return "check the network and the registry (npm config get registry), then try again";
  if (/\b(?:E401|E403|ENEEDAUTH)\b/.test(said)) return "npm login, then try again";
  if (/\bENOSPC\b/.test(said)) return "free some disk space, then try again";
  return "fix the problem reported by npm, then try again";
}

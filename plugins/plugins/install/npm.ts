/** Runs the npm of this Node installation with the user's own settings only: registry, credentials, proxy, cache. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { findOnPath, type ProgramEnd, type ProgramRun, type runProgram } from "@svc/kit/exec";
import { cut, visible } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { InstallFailure, type InstallStep } from "./failure.ts";

/** Runs an npm command. `cwd` must contain a package.json, so that npm takes no directory above for the project. */
export type Npm = (step: InstallStep, args: readonly string[], cwd: string) => Promise<string>;

/** Milliseconds that downloads and dependencies may take. */
const TIMEOUT = 10 * 60_000;

/** Number of npm output lines that are shown. */
const SHOWN = 20;

/** npm settings that control where packages come from and how they are reached; all others are set here. */
const KEPT_SETTINGS =
  /^npm_config_(?:registry|_?auth|_authtoken|userconfig|globalconfig|cache|cafile|ca|cert|key|keyfile|certfile|proxy|https_proxy|http_proxy|noproxy|strict_ssl|local_address|fetch_\w+|maxsockets|prefer_offline|offline|@\S*|\/\/\S*|.*:registry)$/i;

/** Other variables a program needs to run, to reach the network and to find the user's settings. */
const KEPT_VARIABLES =
  /^(?:path|home|userprofile|appdata|localappdata|systemroot|comspec|pathext|temp|tmp|tmpdir|lang|lc_\w+|(?:https?|all|no)_proxy|ssl_cert_(?:file|dir)|node_extra_ca_certs|xdg_\w+)$/i;

/** Flags that turn off scripts, projects and git: npm does nothing beyond the command itself. */
const ALWAYS = [
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--no-workspaces",
  "--no-global",
  "--no-color",
  "--no-progress",
  "--loglevel=error",
  "--logs-max=0",
  "--git=no-git-while-installing-plugins", // a dependency from a git repository would run its scripts
];

/** Runs npm or git: the program with this name on `PATH`, or at this absolute path. */
export type Run = (
  argv: readonly string[],
  options: Pick<ProgramRun, "cwd" | "env" | "timeoutMs">,
) => Promise<ProgramEnd>;

/**
 * Settings that `npm run` leaves in the environment are not passed on.
 * @param env source of the variables for npm and git; see `KEPT_VARIABLES` and `KEPT_SETTINGS`
 */
export function createRun(start: typeof runProgram, env: Readonly<Record<string, string | undefined>>): Run {
  const kept = Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (KEPT_VARIABLES.test(entry[0]) || KEPT_SETTINGS.test(entry[0])),
    ),
  );
  return async (argv, { env: more, ...options }) => {
    const [name = ""] = argv;
    const places = { path: env["PATH"] ?? "", platform: process.platform };
    const file = isAbsolute(name) ? name : await findOnPath(name, places);
    if (file === undefined) throw new Error(`${name} is not on PATH`);
    return start({ ...options, file, argv, env: { ...kept, ...more }, isForeground: true });
  };
}

/** The npm next to the running Node, where all installers put it; otherwise the one on `PATH`. */
function npmCommand(node: string): readonly string[] {
  const bin = dirname(node);
  const script = [
    join(bin, "../lib/node_modules/npm/bin/npm-cli.js"),
    join(bin, "node_modules/npm/bin/npm-cli.js"),
  ].find(existsSync);
  return script === undefined ? ["npm"] : [node, script];
}

/** @returns a function that runs npm and returns its output; it throws InstallFailure with npm's own output */
export function createNpm(run: Run): Npm {
  return async (step, args, cwd) => {
    const argv = [...npmCommand(process.execPath), ...args, ...ALWAYS];
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

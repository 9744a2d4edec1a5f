/** The npm that came with this Node, run so that only the user's own settings count: registry, credentials, proxy, cache. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { findOnPath, type ProgramEnd, type ProgramRun, type runProgram } from "@svc/kit/exec";
import { cut, visible } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { InstallFailure, type InstallStep } from "./failure.ts";

/** One npm command. `cwd` must hold a package.json, so that no directory around it counts as the project. */
export type Npm = (step: InstallStep, args: readonly string[], cwd: string) => Promise<string>;

/** Milliseconds a download and its dependencies may take. */
const TIMEOUT = 10 * 60_000;

/** Lines of what npm says that are shown. */
const SHOWN = 20;

/** Settings of npm that choose where packages come from and how they are reached; every other one is ours to say. */
const KEPT_SETTINGS =
  /^npm_config_(?:registry|_?auth|_authtoken|userconfig|globalconfig|cache|cafile|ca|cert|key|keyfile|certfile|proxy|https_proxy|http_proxy|noproxy|strict_ssl|local_address|fetch_\w+|maxsockets|prefer_offline|offline|@\S*|\/\/\S*|.*:registry)$/i;

/** What else a program needs to run at all, to reach the network and to find the user's settings. */
const KEPT_VARIABLES =
  /^(?:path|home|userprofile|appdata|localappdata|systemroot|comspec|pathext|temp|tmp|tmpdir|lang|lc_\w+|(?:https?|all|no)_proxy|ssl_cert_(?:file|dir)|node_extra_ca_certs|xdg_\w+)$/i;

/** No scripts, no project, no git, nothing but what the command is about. */
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
  "--git=no-git-while-installing-plugins", // a dependency from a git repository would run what stands in it
];

/** Runs npm or git: the program of this name on the path, or the one at this absolute path. */
export type Run = (
  argv: readonly string[],
  options: Pick<ProgramRun, "cwd" | "env" | "timeoutMs">,
) => Promise<ProgramEnd>;

/**
 * The settings that `npm run` leaves in the environment do not get through.
 * @param env what npm and git get of it: see `KEPT_VARIABLES` and `KEPT_SETTINGS`
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
    if (file === undefined) throw new Error(`${name} is not on the path`);
    return start({ ...options, file, argv, env: { ...kept, ...more }, isForeground: true });
  };
}

/** Beside the running Node, as all installers put it; else the one of the path. */
function npmCommand(node: string): readonly string[] {
  const bin = dirname(node);
  const script = [
    join(bin, "../lib/node_modules/npm/bin/npm-cli.js"),
    join(bin, "node_modules/npm/bin/npm-cli.js"),
  ].find(existsSync);
  return script === undefined ? ["npm"] : [node, script];
}

/** @returns runs npm; what it prints. Throws InstallFailure with npm's own words */
export function createNpm(run: Run): Npm {
  return async (step, args, cwd) => {
    const argv = [...npmCommand(process.execPath), ...args, ...ALWAYS];
    const end = await run(argv, { cwd, env: {}, timeoutMs: TIMEOUT }).catch((error: unknown) => {
      throw new InstallFailure(step, `npm cannot be started: ${messageOf(error)}`, "install npm beside this Node");
    });
    if (end.exitCode === 0) return end.stdout;
    const why = end.timedOut ? `npm did not end within ${TIMEOUT / 60_000} minutes` : "npm says";
    const words = lastWords(end.stderr || end.stdout || (end.error ?? ""));
    throw new InstallFailure(step, `${why}:\n${words}`, nextAfter(end.stderr), { npm: end.stderr });
  };
}

/** The last lines of what a program said, made safe for a terminal. */
export function lastWords(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.includes("A complete log of this run"));
  return lines
    .slice(-SHOWN)
    .map((line) => `  ${cut(visible(line), 400)}`)
    .join("\n");
}

function nextAfter(said: string): string {
  if (/\bE404\b|\bETARGET\b/.test(said))
    return "check the name and version; npm view <name> versions shows what there is";
  if (/\b(?:ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ECONNRESET)\b/.test(said))
    return "check the network and the registry (npm config get registry), then try again";
  if (/\b(?:E401|E403|ENEEDAUTH)\b/.test(said)) return "npm login, then try again";
  if (/\bENOSPC\b/.test(said)) return "make room on the disk, then try again";
  return "do what npm says, then try again";
}

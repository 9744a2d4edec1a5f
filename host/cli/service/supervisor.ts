/** Controls systemd (of the user) or launchd with their command-line tools. */
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { GatewayError } from "@svc/sdk";
import { stopWithinMs } from "../drain.ts";
import { type ProgramEnd, runProgram } from "../run-program.ts";
import type { ServiceKind } from "./definition.ts";

/** Actions on a service whose file exists. */
export interface Supervisor {
  readonly kind: ServiceKind;
  /** Loads the file and starts the service; restarts a running one. */
  enable(name: string, path: string): Promise<void>;
  disable(name: string, path: string): Promise<void>;
  start(name: string, path: string): Promise<void>;
  stop(name: string, path: string): Promise<void>;
  restart(name: string, path: string): Promise<void>;
  /** Makes the service manager drop removed files. */
  forget(): Promise<void>;
}

/** Milliseconds; a stop or restart waits until the gateway has drained, and then for the service manager. */
const TIMEOUT = stopWithinMs() + 30_000;

/** Runs a program found by `Machine.find`. */
export type Run = (args: readonly string[]) => Promise<ProgramEnd>;

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly uid: number | undefined;
  /** Command that runs the gateway without a service; quoted in the error message. */
  readonly byHand: string;
  /** The program of this name on the PATH, or `undefined`. */
  find(name: string): Promise<Run | undefined>;
}

export function ownMachine(byHand: string, env: Readonly<Record<string, string | undefined>> = process.env): Machine {
  const given = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("SVC_"),
  );
  return {
    platform: process.platform,
    uid: process.getuid?.(),
    byHand,
    async find(name) {
      const file = await onPath(name, env["PATH"]);
      if (file === undefined) return undefined;
      return (args) => runProgram(file, args, { cwd: "/", env: Object.fromEntries(given), timeoutMs: TIMEOUT });
    },
  };
}

/** Finds a program by name. Skips relative entries of the PATH, so that the working directory never selects a program. */
async function onPath(name: string, path = ""): Promise<string | undefined> {
  for (const directory of path.split(delimiter).filter(isAbsolute)) {
    const file = join(directory, name);
    const isProgram = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return file;
  }
  return undefined;
}

/** @throws GatewayError `UNAVAILABLE` when this machine has no user service manager; names the command to run the gateway instead */
export async function findSupervisor(machine: Machine): Promise<Supervisor> {
  const { platform, byHand, uid } = machine;
  if (platform === "linux") {
    const systemctl = await machine.find("systemctl");
    const asked = await systemctl?.(["--user", "show-environment"]);
    if (systemctl && asked?.code === 0) return systemd((args) => systemctl(["--user", ...args]));
    throw none(`this machine has no systemd user session${asked ? ` (${lastLine(asked)})` : ""}`, byHand);
  }
  if (platform === "darwin" && uid !== undefined) {
    const launchctl = await machine.find("launchctl");
    if (launchctl) return launchd(launchctl, uid);
  }
  throw none(`user services are not supported on ${platform}`, byHand);
}

function none(why: string, byHand: string): GatewayError {
  return new GatewayError("UNAVAILABLE", `${why}, so the gateway cannot run as a service\nNext: ${byHand}`);
}

function lastLine({ stderr }: ProgramEnd): string {
  return stderr.trim().split("\n").at(-1)?.slice(0, 200) || "no output";
}

/** Runs a command that must succeed. @throws GatewayError `UNAVAILABLE` with the last line of its stderr */
async function must(run: Run, command: string, args: readonly string[]): Promise<void> {
  const end = await run(args);
  if (end.code === 0) return;
  throw new GatewayError(
    "UNAVAILABLE",
    `${command} ${args.join(" ")}: ${lastLine(end)}\nNext: svc gateway install --dry-run`,
  );
}

function systemd(run: Run): Supervisor {
  const does = (...args: string[]) => must(run, "systemctl --user", args);
  return {
    kind: "systemd",
    async enable(name) {
      await does("daemon-reload");
      await does("enable", name);
      await does("restart", name);
    },
    disable: (name) => does("disable", "--now", name),
    start: (name) => does("start", name),
    stop: (name) => does("stop", name),
    restart: (name) => does("restart", name),
    forget: () => does("daemon-reload"),
  };
}

function launchd(run: Run, uid: number): Supervisor {
  const domain = `gui/${uid}`;
  const does = (...args: string[]) => must(run, "launchctl", args);
  /** Ignores a service that is not loaded. */
  const unload = async (name: string) => void (await run(["bootout", `${domain}/${name}`]));
  const load = (path: string) => does("bootstrap", domain, path);
  return {
    kind: "launchd",
    async enable(name, path) {
      await unload(name);
      await load(path);
    },
    disable: unload,
    async start(name, path) {
      const { code } = await run(["print", `${domain}/${name}`]);
      if (code !== 0) await load(path);
      await does("kickstart", `${domain}/${name}`);
    },
    stop: unload, // launchd restarts a loaded service
    restart: (name) => does("kickstart", "-k", `${domain}/${name}`),
    forget: async () => undefined,
  };
}

/** Checks whether this machine can run a program in a sandbox, by running one. */
import { findOnPath, ownPlaces, type ProgramPlaces } from "../find-program.ts";
import { runProgram } from "../run-program.ts";
import { sandboxArgv } from "./argv.ts";
import { type Mount, sandboxMounts } from "./mounts.ts";
import { systemMounts } from "./system.ts";

/** bubblewrap, and the part of this machine visible in every sandbox. */
export interface FoundSandbox {
  /** Absolute. */
  readonly path: string;
  /** E.g. `0.8.0`. */
  readonly version: string;
  readonly system: readonly Mount[];
}

/** Why there is no sandbox, and a remedy. */
export interface MissingSandbox {
  readonly missing: string;
  readonly install: string;
}

export type SandboxSearch = FoundSandbox | MissingSandbox;

/** The first version with `--disable-userns`. */
const OLDEST = "0.8.0";
const INSTALL = "apt install bubblewrap (dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap)";
/** Milliseconds. */
const PATIENCE_MS = 10_000;
const MAX_REASON = 300;

/** Error messages of bubblewrap if it may not create a sandbox, with remedies for operators. */
const OBSTACLES: readonly (readonly [says: RegExp, install: string])[] = [
  [
    /loopback|uid map|RTM_NEWADDR/i,
    "let bwrap create user namespaces: an AppArmor profile for it (Ubuntu: apt install apparmor-profiles, then aa-enforce bwrap-userns-restrict), or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
  ],
  [/mount proc/i, "in a container: run it with its own /proc unmasked (Docker: --security-opt systempaths=unconfined)"],
  [
    /namespace|not permitted|no space left/i,
    "let users create namespaces: sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces=15000; in a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or set the mode to off and let the container confine the gateway",
  ],
];

/** Looks for bubblewrap and runs a trivial command in a sandbox. Never throws. */
export async function findSandbox(places: ProgramPlaces = ownPlaces()): Promise<SandboxSearch> {
  if (places.platform !== "linux") {
    return { missing: "bubblewrap works on Linux only", install: "run the gateway on Linux, or set the mode to off" };
  }
  const path = await findOnPath("bwrap", places);
  if (path === undefined) return { missing: "the program bwrap is not on PATH", install: INSTALL };
  const run = (argv: readonly string[]) =>
    runProgram({ file: path, argv: ["bwrap", ...argv], cwd: "/", env: {}, timeoutMs: PATIENCE_MS });
  const [, version] = /(\d+\.\d+\.\d+)/.exec((await run(["--version"])).stdout) ?? [];
  if (version === undefined) return { missing: `${path} does not report its version`, install: INSTALL };
  if (version.localeCompare(OLDEST, "en", { numeric: true }) < 0) {
    return { missing: `bubblewrap ${version} is too old`, install: `bubblewrap ${OLDEST} or later` };
  }
  const system = await systemMounts();
  const mounts = sandboxMounts(
    system,
    { readPaths: [], writePaths: [] },
    { own: [], locked: [], stateDir: "/", home: "/", hidden: [] },
    [],
  );
  const shape = { network: false, memoryMb: 64, processes: 64, mounts };
  const { exitCode, stderr, error } = await run(
    sandboxArgv({ file: "/bin/sh", argv: ["sh", "-c", ":"], cwd: "/" }, shape),
  );
  if (exitCode === 0) return { path, version, system };
  const said = (stderr.trim() || error || `exit code ${exitCode}`).slice(0, MAX_REASON);
  const [, install = `try it by hand: ${path} --unshare-user --ro-bind / / true`] =
    OBSTACLES.find(([says]) => says.test(said)) ?? [];
  return { missing: `bubblewrap ${version} cannot create a sandbox here: ${said}`, install };
}

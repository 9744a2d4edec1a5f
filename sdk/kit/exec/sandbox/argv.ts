/** The command line that runs a program in a bubblewrap sandbox. Pure. */
import { basename } from "node:path";
import type { Mount } from "./mounts.ts";
import type { SandboxRules } from "./rules.ts";

/** The program to run. */
export interface SandboxedProgram {
  /** Absolute path, or a name that is looked up on the program's `PATH` within the sandbox. */
  readonly file: string;
  /** Includes `argv[0]`, the name under which the program is called. */
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
}

/** Properties of a sandbox, independent of the program. */
export interface SandboxShape extends Pick<SandboxRules, "network" | "memoryMb" | "processes"> {
  readonly mounts: readonly Mount[];
}

/**
 * All namespaces are private; further user namespaces are disabled, so that nothing inside regains dropped rights; the
 * kernel ends everything inside with its parent process. The session is that of bubblewrap, which must be started in
 * its own session (`detached`): it then cannot inject input into a terminal (TIOCSTI), and a signal to the process
 * group also ends processes that bubblewrap has forked but not yet tied to itself. bubblewrap sets `no_new_privs`
 * itself. `/proc` is read-only, because root could change settings of the whole machine there without any capability.
 */
const FIXED = [
  "--unshare-user",
  "--unshare-ipc",
  "--unshare-pid",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--disable-userns",
  "--cap-drop",
  "ALL",
  "--die-with-parent",
];

/** Location of a program that is called by another name than its file's. */
const NAMED = "/run/svc";

/**
 * Choice: the shell sets limits per process, which needs neither root nor cgroups: RLIMIT_DATA, which ignores address
 * space that Node and Java reserve without using it, and RLIMIT_NPROC (`-u` in bash, `-p` in dash and busybox). If a
 * limit cannot be set, the program does not start.
 */
const LIMITED =
  'ulimit -c 0 && ulimit -d "$1" && { ulimit -u "$2" 2>/dev/null || ulimit -p "$2"; } || exit 126; shift 2; exec "$@"';

/** Bytes of an empty directory: one page, the minimum. */
const NOTHING_BYTES = "4096";

/** Arguments for `bwrap`, without its own name. */
export function sandboxArgv({ file, argv, cwd }: SandboxedProgram, shape: SandboxShape): string[] {
  const bytes = String(shape.memoryMb * 1_024 * 1_024);
  const [name = file, ...args] = argv;
  const isNamed =
    file.startsWith("/") && basename(name) !== basename(file) && !["", ".", ".."].includes(basename(name));
  const named = `${NAMED}/${basename(name)}`;
  const nothings = shape.mounts.flatMap((mount) =>
    mount.kind === "nothing" && mount.of === "directory" ? [mount.path] : [],
  );
  const kernel = ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", bytes, "--tmpfs", "/dev/shm"];
  const limited = ["/bin/sh", "-c", LIMITED, "sh", String(shape.memoryMb * 1_024), String(shape.processes)];
  return [
    ...FIXED,
    ...(shape.network ? [] : ["--unshare-net"]),
    ...shape.mounts.flatMap((mount) => mountArgs(mount, bytes)),
    ...kernel,
    ...(isNamed ? ["--symlink", file, named] : []),
    // Nothing is mounted after this.
    ...["/dev", ...nothings, "/"].flatMap((path) => ["--remount-ro", path]),
    "--unsetenv",
    "TMPDIR",
    "--chdir",
    cwd,
    "--",
    ...limited,
    isNamed ? named : file,
    ...args,
  ];
}

function mountArgs(mount: Mount, bytes: string): string[] {
  const { path } = mount;
  switch (mount.kind) {
    case "read":
      return ["--ro-bind", path, path];
    case "write":
      return ["--bind", path, path];
    case "link":
      return ["--symlink", mount.to, path];
    case "private":
      return ["--size", bytes, "--tmpfs", path];
    case "nothing":
      return mount.of === "file" ? ["--ro-bind", "/dev/null", path] : ["--size", NOTHING_BYTES, "--tmpfs", path];
  }
}

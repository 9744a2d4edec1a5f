/** The command line that runs a program in a sandbox of bubblewrap. Pure. */
import { basename } from "node:path";
import type { Mount } from "./mounts.ts";
import type { SandboxRules } from "./rules.ts";

/** What is to run. */
export interface SandboxedProgram {
  /** Absolute path, or a name that is looked for on the program's `PATH` within the sandbox. */
  readonly file: string;
  /** With the name it is told it has. */
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
}

/** Everything a sandbox is, apart from what runs in it. */
export interface SandboxShape extends Pick<SandboxRules, "network" | "memoryMb" | "processes"> {
  readonly mounts: readonly Mount[];
}

/**
 * All namespaces are its own; no further user namespaces, so that nothing in it regains what it gave away; the kernel ends all of it
 * with its starter. Its session is that of bubblewrap, which has to be started in one of its own (`detached`): so it puts no input into a
 * terminal (TIOCSTI), and a signal to that process group also ends what bubblewrap has just forked and not tied to itself yet. bubblewrap sets
 * `no_new_privs` by itself. `/proc` is read-only, since root may write settings of the whole machine there without any capability.
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

/** Where a program stands under the name it is told it has, when that is another one than its file's. */
const NAMED = "/run/svc";

/**
 * Choice: limits of each process by the shell, since they need neither root nor cgroups: RLIMIT_DATA, which leaves alone the address space
 * that Node and Java reserve and do not use, and RLIMIT_NPROC (`-u` in bash, `-p` in dash and busybox). A limit that cannot be set ends it.
 */
const LIMITED =
  'ulimit -c 0 && ulimit -d "$1" && { ulimit -u "$2" 2>/dev/null || ulimit -p "$2"; } || exit 126; shift 2; exec "$@"';

/** Bytes of a directory that shows nothing: one page, the least there is. */
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

/**
 * Programs that run other programs: no allowlist entry covers all of their arguments. Pure. Choice: the lists. They
 * need not be complete: a missing program has no profile, so an entry must explicitly allow any arguments.
 */

const SHELLS = words(`
  sh bash zsh dash ksh mksh ash fish csh tcsh yash rbash elvish nu xonsh pwsh powershell cmd`);

const INTERPRETERS = words(`
  python pypy node nodejs deno bun perl ruby php lua luajit osascript tclsh wish expect awk gawk mawk nawk rscript groovy scala julia
  erl elixir ghci guile java jshell jrunscript jjs ipython irb`);

/** They start the program named in their arguments. */
const WRAPPERS = words(`
  env nohup nice ionice chrt taskset timeout stdbuf setsid setarch linux x86_ time watch script sudo doas su runuser pkexec chroot
  unshare nsenter setpriv capsh prlimit choom systemd-run start-stop-daemon run-parts run-mailcap xargs parallel flock strace ltrace gdb
  lldb valgrind perf busybox toybox coreutils ssh caffeinate arch eval exec softlimit sem runcon firejail bwrap proot fakeroot faketime
  unbuffer rlwrap screen tmux dbus-run-session at batch crontab entr npx bunx pnpx uvx pipx`);

/** How a program runs others. */
export type Runner = "shell" | "interpreter" | "wrapper";

/**
 * How a program runs others, by the name it is called by and the name of its file; trailing versions (`python3.12`,
 * `ld-linux-x86-64.so.2`) and `.exe` are ignored.
 * @param called `argv[0]`, or a word that could be a program
 */
export function runnerOf(called: string, path: string = called): Runner | undefined {
  const names = [called, path].map(programName);
  if (names.some((name) => SHELLS.has(name))) return "shell";
  if (names.some((name) => INTERPRETERS.has(name))) return "interpreter";
  return names.some((name) => WRAPPERS.has(name) || /^ld(-linux|-musl|64)?\b.*so/.test(name)) ? "wrapper" : undefined;
}

/**
 * The argument of a shell or interpreter that names the script to run; `undefined`: unknown. Never an option, and for
 * an interpreter never a word that could be a subcommand (`deno run`, `java Main`).
 */
export function scriptOf(runner: Runner | undefined, [word]: readonly string[]): string | undefined {
  if (word === undefined || /^(?:[-+]|$)/.test(word)) return undefined;
  return runner === "shell" || (runner === "interpreter" && /[./]/.test(word)) ? word : undefined;
}

function programName(path: string): string {
  const base = path.split(/[/\\]/).at(-1) ?? "";
  return base
    .toLowerCase()
    .replace(/\.exe$/, "")
    .replace(/[-.\d]+$/, "");
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

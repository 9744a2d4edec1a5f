/** Programs that run what their arguments say: for these an entry of the allowlist does not suffice. Pure. Choice: the lists. */

const SHELLS = words(`
  sh bash zsh dash ksh mksh ash fish csh tcsh yash rbash elvish nu xonsh pwsh powershell cmd`);

/** They start the program their arguments name. */
const WRAPPERS = words(`
  env nohup nice ionice chrt taskset timeout stdbuf setsid time watch script sudo doas su runuser pkexec chroot unshare
  nsenter setpriv capsh systemd-run xargs parallel flock strace ltrace gdb busybox toybox ssh caffeinate arch eval`);

const INTERPRETERS = words(`
  python pypy node nodejs deno bun perl ruby php lua luajit osascript tclsh awk gawk mawk nawk rscript groovy scala julia
  erl elixir ghci guile`);

/** `-c`, `-e`, `-ne`, `-p`, `-r`, `--eval=...` and their like. */
const INLINE = /^-[a-z0-9]*[cepr]|^--(eval|print|exec|execute|command|code|run|require|import|source)\b|^eval$|^-$/i;

/**
 * Whether this command runs text out of its own arguments, or its input, or another program they name. Judged by the name it
 * is called by and by its real name; a version at the end (`python3.12`) and `.exe` do not count. Errs towards yes: `node app.js -p 80` is asked for.
 */
export function runsOtherText(argv: readonly string[], resolvedPath: string): boolean {
  const [called = "", ...args] = argv;
  const names = [called, resolvedPath].map(programName);
  if (names.some((name) => WRAPPERS.has(name))) return true;
  // A shell runs a script only when that is the first thing it is told.
  if (names.some((name) => SHELLS.has(name))) return args[0] === undefined || /^[-+/]?$|^[-+]|^\/[a-z]$/i.test(args[0]);
  if (!names.some((name) => INTERPRETERS.has(name))) return false;
  return args.length === 0 || names.some((name) => name.endsWith("awk")) || args.some((arg) => INLINE.test(arg));
}

/** Whether this program, known by its name, is a shell or an interpreter: what it runs is a script that it is told. */
export const runsScripts = (path: string) => SHELLS.has(programName(path)) || INTERPRETERS.has(programName(path));

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

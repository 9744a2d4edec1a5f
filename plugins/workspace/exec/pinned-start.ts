/** Starts a program or a script from a private copy instead of its own path. Pure. */
import { basename } from "node:path";
import { type BindableRun, commandText, shebangOf } from "@svc/kit/exec";

/** Program and arguments of a start. */
export interface Start {
  readonly file: string;
  readonly argv: readonly string[];
}

/** Shells in which `.` does not change `$0` and the parameters. */
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "ash", "ksh", "mksh"]);

/** Options in a shebang that do not change which file is read. */
const OPTIONS = /^-[abefhmnuvxp]+$/;

/** Scripts that read their own file name, which would differ in a copy. */
const ASKS_ITS_FILE = /BASH_SOURCE|BASH_ARGV/;

/** Programs that load files relative to their own path. */
const HAS_FILES_BESIDE = /\$ORIGIN|@(?:executable|loader)_path/;

/** The argument that names the script of a shell; `undefined` when the program itself runs. */
export function scriptWord({ argv, file }: Pick<BindableRun, "argv" | "file">): string | undefined {
  const name = argv[0] ?? file;
  return SHELLS.has(basename(name)) && argv[1] !== undefined && /^[^-+]/.test(argv[1]) ? argv[1] : undefined;
}

/**
 * @param head beginning of the content of `copy` @param isWhole whether `head` is the whole content
 * @returns `undefined`: it would behave differently from another path, so it must start from its own
 */
export function startOfCopy(run: Start, copy: string, head: string, isWhole: boolean): Start | undefined {
  const [name = run.file, ...args] = run.argv;
  const isAtHome = !isWhole || ASKS_ITS_FILE.test(head);
  if (scriptWord(run) !== undefined) {
    if (isAtHome) return undefined;
    return { file: run.file, argv: [name, ...reading(name, [], copy, args[0] ?? ""), ...args.slice(1)] };
  }
  const shebang = shebangOf(head);
  if (shebang === undefined) return HAS_FILES_BESIDE.test(head) ? undefined : { file: copy, argv: run.argv };
  const { interpreter, words } = shebang;
  const isEnv = basename(interpreter) === "env";
  const shell = isEnv ? words[0] : interpreter;
  const isPlain = words.length <= 1 && (isEnv || words.every((word) => OPTIONS.test(word)));
  // Interpreters of other languages locate imports relative to the script's path.
  if (isAtHome || !isPlain || !interpreter.startsWith("/") || !SHELLS.has(basename(shell ?? ""))) return undefined;
  const before = isEnv ? [interpreter, ...words] : [interpreter];
  return { file: interpreter, argv: [...before, ...reading(shell ?? "", isEnv ? [] : words, copy, run.file), ...args] };
}

/** Arguments that make a shell read `copy` while `$0` stays `name`. */
function reading(shell: string, options: readonly string[], copy: string, name: string): readonly string[] {
  // With `-c` and a socket as input, bash would read ~/.bashrc, which it never does for a script.
  const norc = basename(shell) === "bash" ? ["--norc"] : [];
  return [...norc, ...options, "-c", commandText([".", copy]), name];
}

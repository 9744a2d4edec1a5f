/** How a program or a script starts from a private copy instead of its own path. Pure. */
import { basename } from "node:path";
import { type BindableRun, commandText, shebangOf } from "@svc/kit/exec";

/** What starts. */
export interface Start {
  readonly file: string;
  readonly argv: readonly string[];
}

/** Shells in which `.` leaves `$0` and the parameters as they are. */
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "ash", "ksh", "mksh"]);

/** Options of a first line that change nothing about what is read. */
const OPTIONS = /^-[abefhmnuvxp]+$/;

/** What asks for the name of the file it stands in: a copy would tell it another one. */
const ASKS_ITS_FILE = /BASH_SOURCE|BASH_ARGV/;

/** A program whose files lie beside it, by the paths its loader or its author wrote down. */
const HAS_FILES_BESIDE = /\$ORIGIN|@(?:executable|loader)_path/;

/** The word of a command that names a script which a shell reads, when there is such a word; else the program itself is meant. */
export function scriptWord({ argv, file }: Pick<BindableRun, "argv" | "file">): string | undefined {
  const name = argv[0] ?? file;
  return SHELLS.has(basename(name)) && argv[1] !== undefined && /^[^-+]/.test(argv[1]) ? argv[1] : undefined;
}

/**
 * @param head beginning of the content of `copy` @param isWhole it is all of it
 * @returns `undefined`: from another path it would do something else, so it starts where it lies
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
  // Interpreters of other languages find what a script loads by its path.
  if (isAtHome || !isPlain || !interpreter.startsWith("/") || !SHELLS.has(basename(shell ?? ""))) return undefined;
  const before = isEnv ? [interpreter, ...words] : [interpreter];
  return { file: interpreter, argv: [...before, ...reading(shell ?? "", isEnv ? [] : words, copy, run.file), ...args] };
}

/** Arguments with which a shell reads `copy` and takes it for `name`: `$0` stays what it was. */
function reading(shell: string, options: readonly string[], copy: string, name: string): readonly string[] {
  // With `-c` and a socket for its input, bash would read ~/.bashrc, which it does for no script.
  const norc = basename(shell) === "bash" ? ["--norc"] : [];
  return [...norc, ...options, "-c", commandText([".", copy]), name];
}

/** The file contents a command is bound to, and what follows from them. Pure. */
import type { BoundFile } from "@svc/sdk/approvals";

/** A command that is about to run. */
export interface BindableRun {
  /** Absolute path of the program. */
  readonly file: string;
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** `PATH` of the program. */
  readonly path: string;
  /** Further texts that may name files, e.g. values of variables. Default: none. */
  readonly texts?: readonly string[];
}

/**
 * `runs`: executed files, i.e. the program, its script and what that loads; `all`: also every file named in the
 * arguments.
 */
export type BindingScope = "runs" | "all";

/** The file contents a command is bound to. */
export interface Binding {
  readonly scope: BindingScope;
  /** Sorted by path. */
  readonly files: readonly BoundFile[];
  /** Why the contents cannot be bound, e.g. because they are too large. */
  readonly fault?: string;
  /** An interpreter whose script is not its first argument: the executed file is unknown. */
  readonly hidesScript: boolean;
}

/** Why two bindings of one command differ, naming the file; `undefined`: they are equal. Pure. */
export function bindingFault(before: Binding, now: Binding): string | undefined {
  if (now.fault !== undefined) return now.fault;
  const known = new Map(before.files.map((file) => [file.path, file]));
  for (const { path, sha256, runs } of now.files) {
    const file = known.get(path);
    if (file === undefined)
      return `${shown(path)} did not exist, or was not part of the command, when the command was judged`;
    if (file.sha256 !== sha256 || file.runs !== runs) return `${shown(path)} changed since the command was judged`;
    known.delete(path);
  }
  const [gone] = known.keys();
  if (gone !== undefined) return `${shown(gone)} was removed or replaced since the command was judged`;
  return before.hidesScript === now.hidesScript ? undefined : "its script changed since the command was judged";
}

/**
 * Why an allowlist entry does not cover these contents, as a sentence without its subject; `undefined`: it may. Pure.
 * @param sha256 content the entry is bound to. Absent: the entry applies only if agents cannot write any executed file
 */
export function contentMiss(sha256: string | undefined, { files, fault, hidesScript }: Binding): string | undefined {
  if (fault !== undefined) return `executes contents that cannot be bound: ${fault}`;
  if (hidesScript) return "executes code given in its arguments";
  const [first, ...more] = files.filter(({ runs }) => runs === true);
  if (sha256 === undefined) return first && `runs ${shown(first.path)}, which agents can write`;
  if (first === undefined) return "is allowed with a file that agents can write, but executes none";
  if (more.length > 0) return `runs ${more.length + 1} files that agents can write, but an entry binds only one`;
  return first.sha256 === sha256.toLowerCase()
    ? undefined
    : `is allowed with different content of ${shown(first.path)}`;
}

/** A path quoted for a message. */
export function shown(path: string): string {
  return JSON.stringify(path).slice(0, 300);
}

/** What binds a command to contents, and what follows from it. Pure. */
import type { BoundFile } from "@svc/sdk/approvals";

/** A command as it would run. */
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

/** `runs`: what is run, i.e. the program, its script and what that loads; `all`: every file its arguments name as well. */
export type BindingScope = "runs" | "all";

/** What binds a command. */
export interface Binding {
  readonly scope: BindingScope;
  /** By path. */
  readonly files: readonly BoundFile[];
  /** Why the contents cannot be bound, e.g. since they are too large. */
  readonly fault?: string;
  /** An interpreter whose script is not the first thing it is told: which file it runs is not known. */
  readonly hidesScript: boolean;
}

/** Why two bindings of one command are not the same, naming the file; `undefined`: they are. Pure. */
export function bindingFault(before: Binding, now: Binding): string | undefined {
  if (now.fault !== undefined) return now.fault;
  const known = new Map(before.files.map((file) => [file.path, file]));
  for (const { path, sha256, runs } of now.files) {
    const file = known.get(path);
    if (file === undefined) return `${shown(path)} was not there, or not part of it, when the command was judged`;
    if (file.sha256 !== sha256 || file.runs !== runs) return `${shown(path)} changed since the command was judged`;
    known.delete(path);
  }
  const [gone] = known.keys();
  if (gone !== undefined) return `${shown(gone)} is gone, or another file, since the command was judged`;
  return before.hidesScript === now.hidesScript ? undefined : "its script is another one than when it was judged";
}

/**
 * Why an entry of an allowlist says nothing about these contents, as a sentence without its subject; `undefined`: it may hold. Pure.
 * @param sha256 that the entry binds. Absent: it holds only where agents can write nothing that would run
 */
export function contentMiss(sha256: string | undefined, { files, fault, hidesScript }: Binding): string | undefined {
  if (fault !== undefined) return `runs what cannot be bound: ${fault}`;
  if (hidesScript) return "runs what its arguments say";
  const [first, ...more] = files.filter(({ runs }) => runs === true);
  if (sha256 === undefined) return first && `runs ${shown(first.path)}, which agents can write`;
  if (first === undefined) return "is allowed with a file that agents can write, and runs none";
  if (more.length > 0) return `runs ${more.length + 1} files that agents can write, and an entry binds one`;
  return first.sha256 === sha256.toLowerCase() ? undefined : `is allowed with another content of ${shown(first.path)}`;
}

/** A path as it stands in a sentence. */
export function shown(path: string): string {
  return JSON.stringify(path).slice(0, 300);
}

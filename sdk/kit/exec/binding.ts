/** What binds a command to contents, and what follows from it. Pure. */
import type { BoundFile, ExecPolicyFile } from "@svc/sdk/approvals";

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
 * The policy file without the entries of allowlists that say nothing about this command: where a file that agents can write would
 * run, an entry has to bind its content (`sha256`), and an entry with a hash holds for nothing else. Pure.
 */
export function entriesThatHold(file: ExecPolicyFile, { files, fault, hidesScript }: Binding): ExecPolicyFile {
  const code = files.filter(({ runs }) => runs === true);
  const only = code.length === 1 ? code[0]?.sha256 : undefined;
  const isKnown = fault === undefined && !hidesScript;
  const holds = ({ sha256 }: { readonly sha256?: string }) =>
    isKnown && (sha256 === undefined ? code.length === 0 : sha256.toLowerCase() === only);
  const agents = Object.entries(file.agents ?? {}).map(([id, rules]): [string, typeof rules] => [
    id,
    rules.allowlist ? { ...rules, allowlist: rules.allowlist.filter(holds) } : rules,
  ]);
  return file.agents ? { ...file, agents: Object.fromEntries(agents) } : file;
}

/** A path as it stands in a sentence. */
export function shown(path: string): string {
  return JSON.stringify(path).slice(0, 300);
}

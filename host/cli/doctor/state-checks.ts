/** Checks of the state directory. Pure; `state-files.ts` reads the files. */
import { basename, dirname, relative } from "node:path";
import { type Finding, octal } from "./finding.ts";
import type { StateFile } from "./state-files.ts";

export interface StateView {
  readonly stateDir: string;
  readonly configPath: string;
  readonly files: readonly StateFile[];
  /** User of this process; `undefined` on systems without users and modes. */
  readonly uid: number | undefined;
}

/** Directories in which every file is a secret. */
const SECRET_DIRECTORIES: ReadonlySet<string> = new Set(["credentials", "identity"]);

/** A database, and its companion files while it is open. */
const DATABASE = /\.db(?:-wal|-shm|\.appended-\d+|\.appending)?$/;

/** Files and directories that other users can access. */
export function permissionFindings({ stateDir, configPath, files, uid }: StateView): Finding[] {
  if (uid === undefined) return [];
  return files.flatMap((file): Finding[] => {
    const { path, kind, mode } = file;
    const wanted = wantedMode(file, stateDir, configPath);
    if (wanted === undefined) return [];
    if (file.uid !== uid && file.uid !== 0) {
      const message = "it belongs to another user";
      return [
        {
          severity: "error",
          check: "permissions",
          about: path,
          message,
          next: `change its owner with chown if its content is yours`,
        },
      ];
    }
    if ((mode & 0o077) === 0) return [];
    const isSecret = path === stateDir || (kind === "file" && !isConfigFile(path, configPath));
    return [
      {
        severity: isSecret ? "error" : "warning",
        check: "permissions",
        about: path,
        message: `other users can ${kind === "directory" ? "list" : "read"} or change it: its mode is ${octal(mode)}`,
        next: "svc doctor --fix",
        repair: { kind: "mode", path, mode: wanted },
      },
    ];
  });
}

/** The required mode; `undefined`: any mode is acceptable. */
function wantedMode({ path, kind }: StateFile, stateDir: string, configPath: string): number | undefined {
  const [first = "", ...rest] = relative(stateDir, path).split(/[\\/]/);
  if (kind === "directory") {
    const isPlugins = first === "plugins" && rest.length === 1;
    return path === stateDir || (rest.length === 0 && first !== "") || isPlugins || SECRET_DIRECTORIES.has(first)
      ? 0o700
      : undefined;
  }
  if (kind !== "file") return undefined;
  const isSecret = SECRET_DIRECTORIES.has(first) && rest.length > 0;
  return isConfigFile(path, configPath) || isSecret || DATABASE.test(path) ? 0o600 : undefined;
}

/** The configuration file, its backups and its temporary files. */
function isConfigFile(path: string, configPath: string): boolean {
  return (
    dirname(path) === dirname(configPath) && basename(path).startsWith(basename(configPath)) && !path.endsWith(".lock")
  );
}

/** @param abandoned paths of temporary files and locks whose process is gone */
export function leftoverFindings(abandoned: readonly string[]): Finding[] {
  return abandoned.map((path) => ({
    severity: "warning",
    check: "leftovers",
    about: path,
    message: "a process that ended in the middle of a write left it behind; nothing uses it",
    next: "svc doctor --fix",
    repair: { kind: "remove", path },
  }));
}

/** @param dead paths of sockets without a listener */
export function socketFindings(dead: readonly string[]): Finding[] {
  return dead.map((path) => ({
    severity: "warning",
    check: "sockets",
    about: path,
    message: "a killed gateway left it behind; the next start replaces it",
    next: "svc gateway run, or svc doctor --fix",
    repair: { kind: "remove", path },
  }));
}

/** Files that the gateway replaces as a whole and reads at a start. */
const OWN_JSON: ReadonlySet<string> = new Set([
  "restart-sentinel.json",
  "startup-report.json",
  "event-loop-report.json",
]);

export function isOwnJson({ path, kind }: StateFile, stateDir: string): boolean {
  return kind === "file" && dirname(path) === stateDir && OWN_JSON.has(basename(path));
}

/** @param torn paths of such files without valid JSON */
export function tornFindings(torn: readonly string[]): Finding[] {
  return torn.map((path) => ({
    severity: "warning",
    check: "half-written",
    about: path,
    message: "it holds no valid JSON: it was damaged or written by another program; the gateway will recreate it",
    next: "svc doctor --fix",
    repair: { kind: "remove", path },
  }));
}

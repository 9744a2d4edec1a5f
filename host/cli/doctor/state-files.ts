/** Lists the files of a state directory. Reads only; follows no links. */
import { lstat, readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { isAlive } from "@svc/sdk/files";

/** A file, directory, link or socket. */
export interface StateFile {
  readonly path: string;
  readonly kind: "file" | "directory" | "link" | "socket" | "other";
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly size: number;
  /** epoch ms */
  readonly changedAt: number;
}

/** Levels below the state directory. Deeper files belong to plugins. */
const DEPTH = 3;
/** Choice: maximum number of checked files. */
const MOST = 20_000;
/** Directories that are large, have their own checks, or can be rebuilt. */
const SKIPPED: ReadonlySet<string> = new Set(["cache", "extensions", "doctor", "node_modules"]);

/** The directory itself comes first. Empty if it does not exist. */
export async function listState(stateDir: string): Promise<StateFile[]> {
  const top = await lookAt(stateDir);
  if (!top) return [];
  const found = [top];
  const visit = async (directory: string, depth: number): Promise<void> => {
    const names = await readdir(directory).catch(() => []);
    for (const name of names) {
      if (found.length >= MOST) return;
      const file = await lookAt(join(directory, name));
      if (!file) continue;
      found.push(file);
      if (file.kind === "directory" && depth < DEPTH && !SKIPPED.has(name)) await visit(file.path, depth + 1);
    }
  };
  await visit(stateDir, 1);
  return found;
}

/** @returns `undefined` when the file does not exist */
export async function lookAt(path: string): Promise<StateFile | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats) return undefined;
  const kind = stats.isFile()
    ? "file"
    : stats.isDirectory()
      ? "directory"
      : stats.isSymbolicLink()
        ? "link"
        : stats.isSocket()
          ? "socket"
          : "other";
  return { path, kind, mode: stats.mode & 0o777, uid: stats.uid, size: stats.size, changedAt: stats.mtimeMs };
}

/** Milliseconds. Choice: a process of another machine or container, whose id means nothing here, may still be writing a younger file. */
const YOUNG = 600_000;

/** Whether the process that created the file is gone: a `<name>.<process id>.<12 hex digits>.tmp`, or a `<name>.lock` with the id inside. */
export async function isAbandoned({ path, size, changedAt }: StateFile, now: number): Promise<boolean> {
  if (now - changedAt < YOUNG) return false;
  const [, staged] = /\.(\d+)\.[0-9a-f]{12}\.tmp$/.exec(basename(path)) ?? [];
  if (staged !== undefined) return !isAlive(Number(staged));
  if (!path.endsWith(".lock") || size > 1_000) return false;
  try {
    const { pid, host } = Object(JSON.parse(await readFile(path, "utf8"))) as { pid?: unknown; host?: unknown };
    return typeof pid === "number" && host === hostname() && !isAlive(pid);
  } catch {
    return false; // written by another program, or being written
  }
}

/** Whether a process listens on the socket. */
export function isAnswered(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = connect(socket);
    const done = (answer: boolean) => {
      asked.destroy();
      resolve(answer);
    };
    asked.once("connect", () => done(true));
    asked.once("error", () => done(false));
  });
}

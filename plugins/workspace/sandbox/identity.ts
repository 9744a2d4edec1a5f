/**
 * Keeps the files that say who an agent is from the commands in its sandbox.
 *
 * A mount keeps a file from being changed, replaced or removed, and needs a file to lie on: while a command runs, names that
 * are not there stand as empty files, which prompts leave out. A mount goes away when somebody outside puts another file in
 * the place of the one below it, as every careful writer does; then the commands have to end.
 */
import { type FSWatcher, watch } from "node:fs";
import { lstat, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { invalidRequest, messageOf, unavailable } from "@svc/sdk";
import { WORKSPACE_FILES } from "@svc/sdk/agents";

/** What one command relies on. */
export interface IdentityHold {
  /** The files, absolute. All exist. */
  readonly files: readonly string[];
  /** Aborted: one of them was replaced or removed, so that it is not kept from the command any more. */
  readonly broken: AbortSignal;
  /** The command has ended, or did not start. Safe to call twice. */
  release(): Promise<void>;
}

/** Tells whether a name still means the same file. */
type Versions = ReadonlyMap<string, string>;

interface Root {
  readonly holds: Map<Versions, AbortController>;
  watcher?: FSWatcher;
  /** One change of placeholders after the other. */
  turn: Promise<unknown>;
}

const NAMES: ReadonlySet<string> = new Set(WORKSPACE_FILES);

export class IdentityFiles {
  readonly #roots = new Map<string, Root>();

  /**
   * @param root workspace, links followed
   * @throws GatewayError `INVALID_REQUEST`: one of the names is a link or no file; `UNAVAILABLE`: the workspace cannot be written or watched
   */
  async hold(root: string): Promise<IdentityHold> {
    const here: Root = this.#roots.get(root) ?? { holds: new Map(), turn: Promise.resolve() };
    this.#roots.set(root, here);
    const broken = new AbortController();
    const versions = new Map<string, string>();
    here.holds.set(versions, broken); // before the first wait, so that nobody who releases takes the placeholders away
    const release = () => this.#release(root, here, versions);
    try {
      here.watcher ??= watched(root, () => void recheck(root, here));
      await inTurn(here, async () => {
        for (const name of NAMES) versions.set(name, await made(join(root, name), name));
      });
    } catch (error) {
      await release();
      throw error;
    }
    return { files: [...NAMES].map((name) => join(root, name)), broken: broken.signal, release };
  }

  async #release(root: string, here: Root, versions: Versions): Promise<void> {
    here.holds.delete(versions);
    await inTurn(here, async () => {
      if (here.holds.size > 0) return;
      here.watcher?.close();
      delete here.watcher;
      if (this.#roots.get(root) === here) this.#roots.delete(root);
      for (const name of NAMES) await removePlaceholder(join(root, name));
    });
  }
}

function inTurn<T>(here: Root, work: () => Promise<T>): Promise<T> {
  const done = here.turn.then(work);
  here.turn = done.catch(() => undefined);
  return done;
}

function watched(root: string, changed: () => void): FSWatcher {
  try {
    const watcher = watch(root, { persistent: false }, (_event, name) => {
      if (name === null || NAMES.has(name)) changed();
    });
    watcher.on("error", changed);
    return watcher;
  } catch (error) {
    return unavailable(
      `the workspace cannot be watched, which its sandbox needs: ${messageOf(error)}; an operator can raise fs.inotify.max_user_watches`,
    );
  }
}

async function recheck(root: string, here: Root): Promise<void> {
  for (const [versions, broken] of here.holds) {
    for (const [name, version] of versions) {
      const now = await versionOf(join(root, name)).catch(() => undefined);
      if (now !== version) broken.abort();
    }
  }
}

/** @returns its version; the file is made when it is not there @throws GatewayError */
async function made(path: string, name: string): Promise<string> {
  try {
    await writeFile(path, "", { flag: "wx", mode: 0o600 });
    await utimes(path, 0, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      return unavailable(`the sandbox needs ${name} in the workspace, and it cannot be made: ${messageOf(error)}`);
    }
  }
  const version = await versionOf(path);
  return (
    version ??
    invalidRequest(
      `${name} in the workspace is a link, has a hard link, or is no file; a sandbox cannot protect it. Put a plain file in its place`,
    )
  );
}

/** `undefined`: it is no plain file with this one name. The time it was made tells it from a later file with the same number. */
async function versionOf(path: string): Promise<string | undefined> {
  const stats = await lstat(path, { bigint: true });
  return stats.isFile() && stats.nlink === 1n ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
}

/** Choice: a placeholder is told by what it is, empty and of the year 1970, so that those of a gateway that was killed go, too. */
async function removePlaceholder(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile() && stats.size === 0 && stats.mtimeMs === 0) await unlink(path).catch(() => undefined);
}

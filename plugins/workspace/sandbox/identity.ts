/**
 * Protects the identity files of an agent from the commands in its sandbox.
 *
 * A mount prevents changing, replacing and removing a file, and needs an existing file. So missing files exist as empty
 * placeholders while a command runs; prompts leave them out. A mount disappears when a process outside replaces the file
 * below it, as every atomic write does. So the tools of this plugin end the commands first (`endCommands`), and a
 * replacement by any other writer ends them afterwards.
 */
import { watch } from "node:fs";
import { lstat, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { invalidRequest, type Logger, messageOf, unavailable } from "@svc/sdk";
import { IDENTITY_FILES } from "@svc/sdk/agents";

/** Protection for one command. */
export interface IdentityHold {
  /** The files, absolute. All exist. */
  readonly files: readonly string[];
  /** Aborted when the files are no longer protected, so that the command must end. */
  readonly broken: AbortSignal;
  /** Must be called when the command has ended or did not start. Safe to call twice. */
  release(): Promise<void>;
}

/** A workspace in which commands run. */
interface Root {
  /** Controllers that end the commands, each with a promise that resolves on release. */
  readonly holds: Map<AbortController, Promise<void>>;
  /** Serializes changes of placeholders. */
  turn: Promise<unknown>;
}

const NAMES: ReadonlySet<string> = new Set(IDENTITY_FILES);
/** Choice: milliseconds between two checks, since the kernel may drop change events when many files change. */
const LOOK_EVERY_MS = 1_000;

export class IdentityLocks {
  readonly #roots = new Map<string, Root>();
  readonly #log: Pick<Logger, "warn">;

  constructor(log: Pick<Logger, "warn">) {
    this.#log = log;
  }

  /**
   * @param root workspace, links resolved
   * @throws GatewayError `INVALID_REQUEST`: an identity file is a link or not a file; `UNAVAILABLE`: it cannot be created or watched
   */
  async hold(root: string): Promise<IdentityHold> {
    const here: Root = this.#roots.get(root) ?? { holds: new Map(), turn: Promise.resolve() };
    this.#roots.set(root, here);
    const broken = new AbortController();
    let settle = (): void => undefined;
    const released = new Promise<void>((resolve) => (settle = resolve));
    here.holds.set(broken, released); // before the first await, so that no concurrent release removes the placeholders
    const files = [...NAMES].map((name) => join(root, name));
    let unwatch: (() => void) | undefined;
    const release = async () => {
      unwatch?.();
      here.holds.delete(broken);
      await inTurn(here, () => this.#tidy(root, here));
      settle();
    };
    const replaced = (path: string) => {
      if (broken.signal.aborted) return;
      broken.abort();
      const message =
        "an identity file of an agent was replaced while commands ran in its sandbox; the commands are ended, check the content of the file";
      this.#log.warn({ path }, message);
    };
    try {
      await inTurn(here, async () => {
        for (const path of files) await made(path);
      });
      unwatch = await watched(files, replaced);
    } catch (error) {
      await release();
      throw error;
    }
    return { files, broken: broken.signal, release };
  }

  /** Must be awaited before the file at `name` below `root` is written: ends the commands that could write the new file. */
  async endCommands(root: string, name: string): Promise<void> {
    const here = this.#roots.get(root);
    if (!here || !NAMES.has(name)) return;
    const released = [...here.holds.values()];
    for (const broken of here.holds.keys()) broken.abort();
    await Promise.all(released);
  }

  async #tidy(root: string, here: Root): Promise<void> {
    if (here.holds.size > 0) return;
    if (this.#roots.get(root) === here) this.#roots.delete(root);
    for (const name of NAMES) await removePlaceholder(join(root, name));
  }
}

function inTurn<T>(here: Root, work: () => Promise<T>): Promise<T> {
  const done = here.turn.then(work);
  here.turn = done.catch(() => undefined);
  return done;
}

/**
 * Watches each file and not the directory, since a command cannot cause events for files it cannot write.
 * @param replaced called when a path no longer refers to its file @returns a function that stops watching
 */
async function watched(files: readonly string[], replaced: (path: string) => void): Promise<() => void> {
  const ends: (() => void)[] = [];
  const end = () => ends.forEach((one) => one());
  const versions = new Map<string, string>();
  const look = (path: string) =>
    void versionOf(path)
      .catch(() => undefined)
      .then((now) => versions.has(path) && now !== versions.get(path) && replaced(path));
  try {
    for (const path of files) {
      const watcher = watch(path, { persistent: false }, () => look(path));
      watcher.on("error", () => look(path));
      ends.push(() => watcher.close());
    }
    for (const path of files) versions.set(path, (await versionOf(path)) ?? "");
  } catch (error) {
    end();
    return unavailable(
      `the sandbox needs to watch the workspace, which failed: ${messageOf(error)}; an operator can raise fs.inotify.max_user_watches`,
    );
  }
  const timer = setInterval(() => files.forEach(look), LOOK_EVERY_MS).unref();
  ends.push(() => clearInterval(timer));
  return end;
}

/** Creates the file if missing. @throws GatewayError */
async function made(path: string): Promise<void> {
  try {
    await writeFile(path, "", { flag: "wx", mode: 0o600 });
    await utimes(path, 0, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      unavailable(`the sandbox needs a file ${path}, which cannot be created: ${messageOf(error)}`);
    }
  }
  if ((await versionOf(path)) === undefined) {
    invalidRequest(
      `${path} is a link, has a second name, or is not a file, so a sandbox cannot protect it; replace it with a regular file`,
    );
  }
}

/** `undefined`: not a regular file with a single name. The creation time distinguishes it from a later file with the same inode. */
async function versionOf(path: string): Promise<string | undefined> {
  const stats = await lstat(path, { bigint: true });
  return stats.isFile() && stats.nlink === 1n ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
}

/** Choice: placeholders are recognized by being empty with an mtime of 0, so that those of a killed gateway are removed, too. */
async function removePlaceholder(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile() && stats.size === 0 && stats.mtimeMs === 0) await unlink(path).catch(() => undefined);
}

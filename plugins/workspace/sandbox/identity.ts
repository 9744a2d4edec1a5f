/**
 * Keeps the files that say who an agent is from the commands in its sandbox.
 *
 * A mount keeps a file from being changed, replaced or removed, and needs a file to lie on: while a command runs, names that
 * are not there stand as empty files, which prompts leave out. A mount goes away when somebody outside puts another file in
 * the place of the one below it, as every careful writer does: so the tools of this plugin end the commands first
 * (`endCommands`), and whoever else does it ends them by it.
 */
import { watch } from "node:fs";
import { lstat, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { invalidRequest, type Logger, messageOf, unavailable } from "@svc/sdk";
import { IDENTITY_FILES } from "@svc/sdk/agents";

/** What one command relies on. */
export interface IdentityHold {
  /** The files, absolute. All exist. */
  readonly files: readonly string[];
  /** Aborted: they are not kept from the command any more, so that it has to end. */
  readonly broken: AbortSignal;
  /** The command has ended, or did not start. Safe to call twice. */
  release(): Promise<void>;
}

/** A workspace in which commands run. */
interface Root {
  /** By what breaks it; with a promise that resolves when it is released. */
  readonly holds: Map<AbortController, Promise<void>>;
  /** One change of placeholders after the other. */
  turn: Promise<unknown>;
}

const NAMES: ReadonlySet<string> = new Set(IDENTITY_FILES);
/** Choice: milliseconds between two looks; the kernel may lose a notice where many files change. */
const LOOK_EVERY_MS = 1_000;

export class IdentityLocks {
  readonly #roots = new Map<string, Root>();
  readonly #log: Pick<Logger, "warn">;

  constructor(log: Pick<Logger, "warn">) {
    this.#log = log;
  }

  /**
   * @param root workspace, links followed
   * @throws GatewayError `INVALID_REQUEST`: one of the names is a link or no file; `UNAVAILABLE`: it cannot be made or watched
   */
  async hold(root: string): Promise<IdentityHold> {
    const here: Root = this.#roots.get(root) ?? { holds: new Map(), turn: Promise.resolve() };
    this.#roots.set(root, here);
    const broken = new AbortController();
    let settle = (): void => undefined;
    const released = new Promise<void>((resolve) => (settle = resolve));
    here.holds.set(broken, released); // before the first wait, so that nobody who releases takes the placeholders away
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
        "a file that says who an agent is was replaced while commands ran in its sandbox: see what stands in it";
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

  /** To be awaited before the file at `name` below `root` is written: the commands that could write the new one have ended then. */
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
 * Each file by itself and not their directory: a command can cause no notices about what it cannot write.
 * @param replaced called when a name does not mean its file any more @returns ends it
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
      `the workspace cannot be watched, which its sandbox needs: ${messageOf(error)}; an operator can raise fs.inotify.max_user_watches`,
    );
  }
  const timer = setInterval(() => files.forEach(look), LOOK_EVERY_MS).unref();
  ends.push(() => clearInterval(timer));
  return end;
}

/** The file is made when it is not there. @throws GatewayError */
async function made(path: string): Promise<void> {
  try {
    await writeFile(path, "", { flag: "wx", mode: 0o600 });
    await utimes(path, 0, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      unavailable(`the sandbox needs a file ${path}, and it cannot be made: ${messageOf(error)}`);
    }
  }
  if ((await versionOf(path)) === undefined) {
    invalidRequest(
      `${path} is a link, has a second name, or is no file, so that a sandbox cannot protect it; put a plain file in its place`,
    );
  }
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

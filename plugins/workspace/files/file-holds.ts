/**
 * Blocks writes by agents' tools to the files of a command that is starting, until the program has read them. Together with
 * the comparison of contents, this ensures that the program runs exactly the contents that were shown.
 */
import { join } from "node:path";
import { foldedPath } from "@svc/kit/files";
import type { Clock } from "@svc/sdk";

/** Choice: milliseconds in which a program reads the files it runs; a long-running server must not block editing. */
export const HOLD_MS = 10_000;

export class FileHolds {
  readonly #clock: Pick<Clock, "setTimeout">;
  /** By path: starts that need the file unchanged. */
  readonly #held = new Pending();
  /** By path: writes in progress. */
  readonly #written = new Pending();

  constructor(clock: Pick<Clock, "setTimeout">) {
    this.#clock = clock;
  }

  /**
   * Blocks writes to these files for at most 10 s. Resolves when no write to them is in progress.
   * @param paths absolute, without links
   * @returns a function that unblocks them
   */
  async hold(paths: readonly string[]): Promise<() => void> {
    let letGo = () => undefined as void;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const cancelTimer = this.#clock.setTimeout(letGo, HOLD_MS);
    void held.then(cancelTimer);
    this.#held.add(paths, held);
    while (this.#written.has(paths)) await this.#written.settled(paths);
    return letGo;
  }

  /** Runs a write once no start needs these files. @param names relative to `root` */
  async write<T>(root: string, names: readonly string[], work: () => Promise<T>): Promise<T> {
    const paths = names.map((name) => join(root, name));
    while (this.#held.has(paths)) await this.#held.settled(paths);
    const written = work(); // synchronous after the check, so that a start sees this write
    this.#written.add(paths, written);
    return written;
  }
}

/** Work in progress, by path. */
class Pending {
  readonly #byPath = new Map<string, Set<Promise<unknown>>>();

  add(paths: readonly string[], work: Promise<unknown>): void {
    for (const path of paths.map(foldedPath)) {
      const all = this.#byPath.get(path) ?? new Set();
      this.#byPath.set(path, all.add(work));
      const forget = () => {
        if (all.delete(work) && all.size === 0 && this.#byPath.get(path) === all) this.#byPath.delete(path);
      };
      work.then(forget, forget);
    }
  }

  has(paths: readonly string[]): boolean {
    return paths.some((path) => this.#byPath.has(foldedPath(path)));
  }

  /** Resolves when all current work on these paths has ended, with or without success. */
  settled(paths: readonly string[]): Promise<unknown> {
    return Promise.allSettled(paths.flatMap((path) => [...(this.#byPath.get(foldedPath(path)) ?? [])]));
  }
}

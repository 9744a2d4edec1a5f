/**
 * Files whose content was allowed with a command that starts: tools of agents write them again once the program has read them.
 * Together with the comparison of contents this makes what was shown what runs, whatever reads it.
 */
import { join } from "node:path";
import { foldedPath } from "@svc/kit/files";
import type { Clock } from "@svc/sdk";

/** Choice: milliseconds within which a program has read what it runs; a server that runs for days must not stop all editing. */
export const HOLD_MS = 10_000;

export class FileHolds {
  readonly #clock: Pick<Clock, "setTimeout">;
  /** By path: starts that need it as it is. */
  readonly #held = new Pending();
  /** By path: writes under way. */
  readonly #written = new Pending();

  constructor(clock: Pick<Clock, "setTimeout">) {
    this.#clock = clock;
  }

  /**
   * From now on writes of these files wait, for 10 s at most. Resolves when none of them is being written.
   * @param paths absolute, without links
   * @returns lets them go
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

  /** Does a write once no start needs these files. @param names relative to `root` */
  async write<T>(root: string, names: readonly string[], work: () => Promise<T>): Promise<T> {
    const paths = names.map((name) => join(root, name));
    while (this.#held.has(paths)) await this.#held.settled(paths);
    const written = work(); // nothing comes between the look and this, so that a start sees it
    this.#written.add(paths, written);
    return written;
  }
}

/** Work that is under way, by path. */
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

  /** Resolves when what is under way now has ended, well or not. */
  settled(paths: readonly string[]): Promise<unknown> {
    return Promise.allSettled(paths.flatMap((path) => [...(this.#byPath.get(foldedPath(path)) ?? [])]));
  }
}

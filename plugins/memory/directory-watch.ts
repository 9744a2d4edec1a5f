/** Tells when something changes in directories. Only in them: each directory on the way down is named. */
import { watch } from "node:fs";

export interface WatchParts {
  /** Something changed, perhaps. @param name of what changed in the directory; `undefined`: the system does not say */
  readonly changed: (directory: string, name: string | undefined) => void;
  /** A directory cannot be watched, e.g. because the system watches as many as it can. */
  readonly failed: (directory: string, error: Error) => void;
}

export interface DirectoryWatch {
  /** Watches these and no others. @returns whether there were new ones, and whether all are watched */
  follow(directories: readonly string[]): { readonly isNew: boolean; readonly isWhole: boolean };
  /** Safe to call twice. */
  close(): void;
}

export function watchDirectories({ changed, failed }: WatchParts): DirectoryWatch {
  const watched = new Map<string, { close(): void }>();

  function drop(directory: string): void {
    watched.get(directory)?.close();
    watched.delete(directory);
  }

  function add(directory: string): boolean {
    try {
      const watcher = watch(directory, { persistent: false }, (_event, name) => changed(directory, name ?? undefined));
      // It went away, most likely; whoever looks for the directories next sees what is there.
      watcher.on("error", () => {
        if (watched.get(directory) === watcher) drop(directory);
        changed(directory, undefined);
      });
      watched.set(directory, watcher);
      return true;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (!("code" in error && error.code === "ENOENT")) failed(directory, error);
      return false;
    }
  }

  return {
    follow(directories) {
      const wanted = new Set(directories);
      for (const directory of watched.keys()) if (!wanted.has(directory)) drop(directory);
      const missing = [...wanted].filter((directory) => !watched.has(directory));
      const added = missing.filter(add);
      return { isNew: added.length > 0, isWhole: added.length === missing.length };
    },
    close() {
      for (const directory of watched.keys()) drop(directory);
    },
  };
}

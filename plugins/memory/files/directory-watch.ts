/**
 * Watches directories, without their subdirectories.
 *
 * chokidar does not fit: it needs one system watch per file (measured: 201 against 1), and does not report missing directories.
 */
import { watch } from "node:fs";
import { basename } from "node:path";

export interface WatchParts {
  /** Called when something may have changed. @param name of the changed entry; `undefined`: unknown */
  readonly changed: (directory: string, name: string | undefined) => void;
  /** Called when a directory cannot be watched, e.g. because the system's limit of watches is reached. */
  readonly failed: (directory: string, error: Error) => void;
}

export interface DirectoryWatch {
  /** Watches exactly these directories. @returns whether any is new, and which are missing or cannot be watched */
  follow(directories: readonly string[]): {
    readonly isNew: boolean;
    readonly missing: readonly string[];
    readonly failed: readonly string[];
  };
  /** Safe to call twice. */
  close(): void;
}

export function watchDirectories({ changed, failed }: WatchParts): DirectoryWatch {
  const watched = new Map<string, { close(): void }>();

  function drop(directory: string): void {
    watched.get(directory)?.close();
    watched.delete(directory);
  }

  function gone(directory: string): void {
    drop(directory);
    changed(directory, undefined);
  }

  function add(directory: string): "added" | "missing" | "failed" {
    try {
      const watcher = watch(directory, { persistent: false }, (event, name) => {
        // The directory itself was probably removed or moved; a new one of this name would not be watched.
        if (event === "rename" && name === basename(directory)) gone(directory);
        else changed(directory, name ?? undefined);
      });
      watcher.on("error", () => gone(directory));
      watched.set(directory, watcher);
      return "added";
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if ("code" in error && error.code === "ENOENT") return "missing";
      failed(directory, error);
      return "failed";
    }
  }

  return {
    follow(directories) {
      const wanted = new Set(directories);
      for (const directory of watched.keys()) if (!wanted.has(directory)) drop(directory);
      const tried = [...wanted]
        .filter((directory) => !watched.has(directory))
        .map((directory) => ({ directory, outcome: add(directory) }));
      const those = (wish: ReturnType<typeof add>) =>
        tried.filter(({ outcome }) => outcome === wish).map(({ directory }) => directory);
      return { isNew: those("added").length > 0, missing: those("missing"), failed: those("failed") };
    },
    close() {
      for (const directory of watched.keys()) drop(directory);
    },
  };
}

import { readFile } from "node:fs/promises";
import { matches, type Static, type TSchema } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";

/** A small JSON file of an account. A crash leaves the former or the new content, never half of it. */
export interface StateFile<T> {
  /** Content of the file, or what was written last. `undefined`: there is none, or it does not match the schema. */
  readonly value: T | undefined;
  /**
   * Replaces the file, mode 0600, unless it has this content. Writes are done one after the other. Resolves when this
   * value or a later one is on disk.
   * @throws Error of the file system
   */
  write(value: T): Promise<void>;
}

/** Reads the file. An unreadable file counts as none: the account starts as a new one. */
export async function openStateFile<S extends TSchema>(path: string, schema: S): Promise<StateFile<Static<S>>> {
  let value = await read(path, schema);
  let saved = "";
  let writing = Promise.resolve();
  return {
    get value() {
      return value;
    },
    write(next) {
      value = next;
      writing = writing.catch(() => undefined).then(save);
      return writing;
    },
  };

  async function save(): Promise<void> {
    const content = JSON.stringify(value);
    if (content === saved) return;
    await replaceFile(path, content);
    saved = content;
  }
}

async function read<S extends TSchema>(path: string, schema: S): Promise<Static<S> | undefined> {
  try {
    const stored: unknown = JSON.parse(await readFile(path, "utf8"));
    return matches(schema, stored) ? stored : undefined;
  } catch {
    return undefined; // the first run, or a file that somebody changed
  }
}

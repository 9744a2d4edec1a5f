/** The transforms directory as it is compiled: texts, and why a path is left out. Pure; plain data, so that it can go to a worker. */
import type { Known } from "./resolve.ts";
import type { Tree } from "./tree.ts";

export interface Source {
  /** What messages and `import.meta` call the directory. Absolute. */
  readonly directory: string;
  readonly texts: ReadonlyMap<string, string>;
  readonly refused: ReadonlyMap<string, string>;
}

export function sourceOf({ directory, files, refused }: Pick<Tree, "directory" | "files" | "refused">): Source {
  const decoder = new TextDecoder(); // leaves a byte order mark out
  return { directory, refused, texts: new Map([...files].map(([path, bytes]) => [path, decoder.decode(bytes)])) };
}

/** Why a path is left out: what is wrong with itself or with a directory above it. */
export function refusedBecause(refused: ReadonlyMap<string, string>, path: string): string | undefined {
  const names = path.split("/");
  for (let length = names.length; length > 0; length -= 1) {
    const place = names.slice(0, length).join("/");
    const reason = refused.get(place);
    if (reason !== undefined) return length === names.length ? reason : `(${place} ${reason})`;
  }
  return undefined;
}

export function knownIn({ texts, refused }: Pick<Source, "texts" | "refused">): Known {
  return { has: (path) => texts.has(path), refusedBecause: (path) => refusedBecause(refused, path) };
}

/** What this gateway and the others last agreed on: the base from which changes of either side are told apart. A file for each workspace. */
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { readPrivateJson } from "@svc/kit/files";
import { matches, type Static, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";

const MAX_BYTES = 50_000_000;

const Known = Type.Object({
  /** Version of the entry. */
  version: Type.Integer(),
  sha256: Type.String(),
  size: Type.Integer(),
  isExecutable: Type.Boolean(),
  /** Of the file at this gateway, when its content was this. */
  mtimeMs: Type.Number(),
  ino: Type.Number(),
});
export type Known = Readonly<Static<typeof Known>>;

const Stored = Type.Object({
  /** Real path of the workspace: another directory has another base. */
  root: Type.String(),
  version: Type.Integer(),
  files: Type.Record(Type.String(), Known),
});

export interface Base {
  /** Newest version of the workspace whose changes are all here. */
  version: number;
  /** By path. */
  readonly files: Map<string, Known>;
}

/** A damaged file, or one of another directory, counts as none: equal files then agree, and others are kept beside each other. */
export async function readBase(file: string, root: string): Promise<Base> {
  const stored = await readPrivateJson(file, { maxBytes: MAX_BYTES, denied: 0o022 }).catch(() => undefined);
  if (!matches(Stored, stored) || stored.root !== root) return { version: 0, files: new Map() };
  return { version: stored.version, files: new Map(Object.entries(stored.files)) };
}

export async function writeBase(file: string, root: string, { version, files }: Base): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replaceFile(file, JSON.stringify({ root, version, files: Object.fromEntries(files) }));
}

export const removeBase = (file: string) => rm(file, { force: true });

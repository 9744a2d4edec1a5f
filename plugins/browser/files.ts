/** Files of the plugin: downloads, pictures, documents and traces. */
import { MAX_FILE_BYTES, readWithin } from "@svc/kit/files";
import { type Clock, invalidRequest } from "@svc/sdk";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

/** Choice: limit of one download or upload. */
export const MAX_BYTES = 50 * MAX_FILE_BYTES;
const KEEP_MS = 7 * 24 * 3_600_000;
const KEEP_BYTES = 500 * MAX_FILE_BYTES;

/** A stored file. */
export interface StoredFile {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
}

/** The directory of files. */
export interface FileStore {
  readonly directory: string;
  save(name: string, content: Uint8Array): Promise<StoredFile>;
  /** Moves a file of this disk into the directory. */
  adopt(path: string, name: string): Promise<StoredFile>;
  /** A free path for a program that writes the file itself. */
  reserve(name: string): Promise<string>;
}

export function createFileStore(directory: string, clock: Pick<Clock, "now">): FileStore {
  async function reserve(name: string): Promise<string> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await prune(directory, clock.now());
    return join(directory, `${randomBytes(4).toString("hex")}-${safeName(name)}`);
  }
  return {
    directory,
    reserve,
    async save(name, content) {
      const path = await reserve(name);
      await writeFile(path, content, { mode: 0o600, flag: "wx" });
      return { path, bytes: content.length };
    },
    async adopt(from, name) {
      const path = await reserve(name);
      await rename(from, path);
      return { path, bytes: (await stat(path)).size };
    },
  };
}

/**
 * A name that means the same on every system: no directory, no control or direction characters, no leading dot, at most
 * 100 characters. The names of downloads come from strangers.
 */
export function safeName(name: string): string {
  const last = basename(name.replaceAll("\\", "/"));
  const plain = last
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}._ -]+/gu, "_")
    .replace(/^[. ]+|[. ]+$/g, "");
  if (plain.length <= 100) return plain === "" ? "file" : plain;
  const end = /\.[\p{L}\p{N}]{1,10}$/u.exec(plain)?.[0] ?? "";
  return plain.slice(0, 100 - end.length) + end;
}

/** Deletes files after 7 days, and the oldest above 500 MB. Runs with each new file, so that no timer is needed. */
async function prune(directory: string, now: number): Promise<void> {
  const names = await readdir(directory);
  const files = await Promise.all(
    names.map(async (name) => {
      const facts = await stat(join(directory, name)).catch(() => undefined);
      return { name, at: facts?.mtimeMs ?? 0, bytes: facts?.isFile() ? facts.size : 0 };
    }),
  );
  let total = 0;
  for (const { name, at, bytes } of files.toSorted((one, other) => other.at - one.at)) {
    total += bytes;
    if (now - at > KEEP_MS || total > KEEP_BYTES) await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** Directory from which a caller may upload. */
export interface UploadRoot {
  readonly root: string;
  /** @throws GatewayError if the path is not for this caller */
  nameOf(path: string): string | undefined;
}

/** A file to upload, in the form the library takes. */
export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

/**
 * Reads the files from the first root that holds each path, through the opener that follows no link out of it.
 * @throws GatewayError `INVALID_REQUEST` naming the path
 */
export async function readUploads(paths: readonly string[], roots: readonly UploadRoot[]): Promise<Upload[]> {
  const uploads: Upload[] = [];
  let total = 0;
  for (const path of paths) {
    const file = await readUpload(path, roots);
    total += file.length;
    if (total > MAX_BYTES) invalidRequest(`the files have more than ${MAX_BYTES} bytes; upload fewer or smaller ones`);
    uploads.push({ name: basename(path), mimeType: "application/octet-stream", buffer: file });
  }
  return uploads;
}

async function readUpload(path: string, roots: readonly UploadRoot[]): Promise<Buffer> {
  const shown = JSON.stringify(path.slice(0, 200));
  for (const { root, nameOf } of roots) {
    const name = nameOf(path);
    if (name === undefined || name === "") continue;
    const file = await readWithin(root, name, MAX_BYTES + 1);
    if (file) return file.bytes;
  }
  return invalidRequest(`${shown} is no file of the workspace or of the browser's downloads`);
}

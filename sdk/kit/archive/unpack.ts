/** Unpacks an archive into a new directory: only files and directories, below it, within limits. */
import { createWriteStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ArchiveLimits } from "./rules.ts";
import { ArchiveRefusal, readTar } from "./tar.ts";
import { readZip } from "./zip.ts";

/**
 * Unpacks a `.tgz` or `.zip` archive; its first bytes decide. Files are private (0600, programs 0700).
 * @param target an empty directory that only this process writes to
 * @throws ArchiveRefusal with the reason: another format, a link, a path that leads out, a limit. `target` may then
 * have some of the files. Errors of the file system
 */
export async function unpackArchive(file: string, target: string, limits: ArchiveLimits): Promise<void> {
  const write = async (path: string, mode: number, content: NodeJS.ReadableStream) => {
    const to = join(target, path);
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await pipeline(content, createWriteStream(to, { flags: "wx", mode: (mode & 0o111) === 0 ? 0o600 : 0o700 }));
  };
  const makeDirectory = (path: string) => mkdir(join(target, path), { recursive: true, mode: 0o700 }).then(() => {});
  if ((await formatOf(file)) === "zip") {
    return readZip(file, limits, ({ path, isDirectory, mode }, content) =>
      isDirectory ? makeDirectory(path) : write(path, mode, content),
    );
  }
  await readTar(file, {
    limits,
    visit(entry) {
      if (entry.type !== "Directory") return write(entry.path, entry.mode ?? 0, entry as never); // a readable stream, typed otherwise
      entry.resume();
      return makeDirectory(entry.path);
    },
  });
}

/** @throws ArchiveRefusal for another format */
async function formatOf(file: string): Promise<"tar" | "zip"> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer[0] === 0x1f && buffer[1] === 0x8b) return "tar";
    if (buffer.toString("latin1", 0, 2) === "PK") return "zip";
  } finally {
    await handle.close();
  }
  throw new ArchiveRefusal("it is neither a gzipped tar archive (.tgz) nor a zip archive");
}

/** Reads a zip archive by its central directory, and counts every unpacked byte. */
import { stat } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Entry, openPromise } from "yauzl";
import { type ArchiveLimits, createEntryCheck } from "./rules.ts";
import { ArchiveRefusal, mostUnpacked } from "./tar.ts";

const TYPE = 0o170000;
const TYPES: ReadonlyMap<number, string> = new Map([
  [0, "File"],
  [0o100000, "File"],
  [0o040000, "Directory"],
  [0o120000, "SymbolicLink"],
]);

/** An allowed entry. */
export interface ZipEntry {
  readonly path: string;
  readonly isDirectory: boolean;
  /** Permissions; 0: not recorded. */
  readonly mode: number;
}

/** @throws ArchiveRefusal; errors of the file system and of `visit` */
export async function readZip(
  file: string,
  limits: ArchiveLimits,
  visit: (entry: ZipEntry, content: Readable) => Promise<void>,
): Promise<void> {
  const { size } = await stat(file);
  if (size > limits.packedBytes) throw new ArchiveRefusal(`it has more than ${limits.packedBytes} bytes`);
  const check = createEntryCheck(limits);
  const most = mostUnpacked(size, limits);
  let total = 0;
  const zip = await openPromise(file, { lazyEntries: true, strictFileNames: true }).catch((error: unknown) => {
    throw refusalOf(error, "it is not a readable zip archive: ");
  });
  try {
    for await (const entry of zip.eachEntry()) {
      const about = entryOf(entry);
      const why = check({ path: about.path, type: about.type });
      if (why !== undefined) throw new ArchiveRefusal(why);
      if (entry.isEncrypted()) throw new ArchiveRefusal(`"${about.path}" is encrypted`);
      if (about.isDirectory) {
        await visit(about, Readable.from([]));
        continue;
      }
      const counted = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          total += chunk.length;
          if (total > most) done(new ArchiveRefusal(`it has more than ${most} bytes unpacked, from ${size} packed`));
          else done(null, chunk);
        },
      });
      await Promise.all([pipeline(await zip.openReadStreamPromise(entry), counted), visit(about, counted)]);
    }
  } catch (error) {
    throw refusalOf(error);
  } finally {
    zip.close();
  }
}

/** The library reports what is wrong with an archive as an error without a code, unlike the file system. */
function refusalOf(error: unknown, prefix = ""): unknown {
  const isRefusal = error instanceof Error && !("code" in error) && !(error instanceof ArchiveRefusal);
  return isRefusal ? new ArchiveRefusal(prefix + error.message) : error;
}

/** Windows tools record no Unix mode; a name with a final slash is a directory there. */
function entryOf({ fileName, externalFileAttributes }: Entry): ZipEntry & { readonly type: string } {
  const mode = externalFileAttributes >>> 16;
  const type = fileName.endsWith("/") ? "Directory" : (TYPES.get(mode & TYPE) ?? "special file");
  return { path: fileName, type, isDirectory: type === "Directory", mode: mode & 0o777 };
}

/**
 * Looks into an archive without unpacking anything of it: it is read once from end to end, and every byte is counted. Runs in a thread of
 * its own (`archive-thread.ts`).
 */
import { messageOf } from "@svc/sdk/errors";
import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { ARCHIVE_LIMITS, createEntryCheck } from "./archive-rules.ts";

/** What an archive is. */
export interface ArchiveContent {
  /** Text of its package.json. */
  readonly packageJson: string;
}

/** Bytes a package.json may have. */
const LONGEST_PACKAGE_JSON = 1_024 * 1_024;

/** Why nothing of an archive is unpacked; its message is that reason. */
class ArchiveRefusal extends Error {
  override readonly name = "ArchiveRefusal";
}

const refused = (why: string) => new ArchiveRefusal(why);

/** @throws ArchiveRefusal; what the file system throws */
export async function readArchive(file: string): Promise<ArchiveContent> {
  const packed = await packedSize(file);
  const check = createEntryCheck();
  let refusal: ArchiveRefusal | undefined;
  let packageJson: string | undefined;
  const parser = new Parser({ strict: true, brotli: false, zstd: false, maxMetaEntrySize: LONGEST_PACKAGE_JSON });
  const ended = new Promise<void>((resolve, reject) => {
    parser.on("error", reject);
    parser.on("end", resolve);
  });
  ended.catch(() => undefined); // awaited below, where nothing failed before it
  parser.on("entry", (entry: ReadEntry) => {
    const why = check({ path: entry.path, type: entry.type });
    if (why !== undefined) refusal ??= refused(why);
    if (entry.path === "package/package.json" && entry.size <= LONGEST_PACKAGE_JSON) {
      const chunks: Buffer[] = [];
      entry.on("data", (chunk: Buffer) => chunks.push(chunk));
      entry.on("end", () => (packageJson = Buffer.concat(chunks).toString("utf8")));
    } else {
      entry.resume();
    }
  });
  let metadata = 0;
  parser.on("meta", (text: string) => {
    metadata += text.length;
    if (metadata > ARCHIVE_LIMITS.metadataChars)
      refusal ??= refused(`it has more than ${ARCHIVE_LIMITS.metadataChars} characters of metadata`);
  });
  parser.on("ignoredEntry", () => (refusal ??= refused(`it has metadata of more than ${LONGEST_PACKAGE_JSON} bytes`)));
  // Behind its end an archive is counted and no longer parsed: the library keeps all of that, and copies it for each piece that comes.
  let isOver = false;
  parser.on("eof", () => (isOver = true));
  const counted = countingTo(packed, () => refusal);
  try {
    await pipeline(createReadStream(file), createGunzip(), counted, async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) if (!isOver && !parser.write(chunk)) await drained(parser);
      parser.end();
    });
    await ended;
  } catch (error) {
    throw error instanceof ArchiveRefusal ? error : (refusal ?? refused(messageOf(error)));
  }
  if (refusal) throw refusal;
  if (packageJson === undefined) throw refused("it has no package/package.json");
  return { packageJson };
}

function drained(parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once("drain", resolve);
    parser.once("error", reject);
  });
}

/** Size of a gzipped file. @throws ArchiveRefusal it is none, or too large */
async function packedSize(file: string): Promise<number> {
  const handle = await open(file, constants.O_RDONLY);
  try {
    const { size } = await handle.stat();
    if (size > ARCHIVE_LIMITS.packedBytes) throw refused(`it has more than ${ARCHIVE_LIMITS.packedBytes} bytes`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead < 2 || !isGzip(buffer)) throw refused("it is not a gzipped tar archive (.tgz), which packages are");
    return size;
  } finally {
    await handle.close();
  }
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Lets everything through until it is too much, or the entries showed that it must not be. */
function countingTo(packed: number, refusal: () => ArchiveRefusal | undefined): Transform {
  const { unpackedBytes, ratio, ratioFrom } = ARCHIVE_LIMITS;
  const most = Math.min(unpackedBytes, Math.max(ratioFrom, packed * ratio));
  let total = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // The library would unpack once more, uncounted.
      if (total === 0 && isGzip(chunk)) return done(refused("it is packed twice"));
      total += chunk.length;
      if (total > most) return done(refused(`it has more than ${most} bytes unpacked, from ${packed} packed`));
      done(refusal() ?? null, chunk);
    },
  });
}

/** Subresource integrity of a file. */
export async function integrityOf(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}

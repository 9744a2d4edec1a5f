/**
 * Inspects an archive without unpacking it: reads it once from end to end and counts every byte. Runs in a separate
 * thread (`archive-thread.ts`).
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

/** Facts about an archive. */
export interface ArchiveContent {
  /** Text of its package.json. */
  readonly packageJson: string;
}

/** Maximum bytes of a package.json. */
const LONGEST_PACKAGE_JSON = 1_024 * 1_024;

/** The archive is not unpacked; the message is the reason. */
class ArchiveRefusal extends Error {
  override readonly name = "ArchiveRefusal";
}

const refused = (why: string) => new ArchiveRefusal(why);

/** @throws ArchiveRefusal; errors of the file system */
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
  ended.catch(() => undefined); // awaited below if nothing fails before
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
  // After the end marker, data is only counted and no longer parsed: the library would store it all and copy it for
  // each chunk.
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

/** Size of a gzipped file. @throws ArchiveRefusal if it is not gzipped or too large */
async function packedSize(file: string): Promise<number> {
  const handle = await open(file, constants.O_RDONLY);
  try {
    const { size } = await handle.stat();
    if (size > ARCHIVE_LIMITS.packedBytes) throw refused(`it has more than ${ARCHIVE_LIMITS.packedBytes} bytes`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead < 2 || !isGzip(buffer)) throw refused("it is not a gzipped tar archive (.tgz)");
    return size;
  } finally {
    await handle.close();
  }
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Passes data through until a limit is exceeded or an entry was refused. */
function countingTo(packed: number, refusal: () => ArchiveRefusal | undefined): Transform {
  const { unpackedBytes, ratio, ratioFrom } = ARCHIVE_LIMITS;
  const most = Math.min(unpackedBytes, Math.max(ratioFrom, packed * ratio));
  let total = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // The library would unpack a second layer, uncounted.
      if (total === 0 && isGzip(chunk)) return done(refused("it is compressed twice"));
      total += chunk.length;
      if (total > most) return done(refused(`it has more than ${most} bytes unpacked, from ${packed} packed`));
      done(refusal() ?? null, chunk);
    },
  });
}

/** Subresource integrity string of a file. */
export async function integrityOf(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}

/** Reads a gzipped tar archive once, from end to end, and counts every byte. */
import { messageOf } from "@svc/sdk";
import { constants, createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { ARCHIVE_BOUNDS, type ArchiveLimits, createEntryCheck } from "./rules.ts";

/** The archive is not unpacked; the message is the reason. */
export class ArchiveRefusal extends Error {
  override readonly name = "ArchiveRefusal";
}

/** Maximum bytes of one extended header. */
const MAX_METADATA_BYTES = 1_024 * 1_024;

const refused = (why: string) => new ArchiveRefusal(why);

/** What to do with the archive. */
export interface TarReading {
  readonly limits: ArchiveLimits;
  /** As in `createEntryCheck`. */
  readonly root?: string;
  /**
   * Called for each allowed entry, before its content arrives. It must consume the content; `undefined`: the content
   * is skipped.
   */
  readonly visit: (entry: ReadEntry) => Promise<void> | undefined;
}

/** @throws ArchiveRefusal; errors of the file system and of `visit` */
export async function readTar(file: string, { limits, root, visit }: TarReading): Promise<void> {
  const packed = await packedSize(file, limits);
  const check = createEntryCheck({ ...limits, ...(root !== undefined && { root }) });
  let refusal: Error | undefined;
  const visits: Promise<void>[] = [];
  const parser = new Parser({ strict: true, brotli: false, zstd: false, maxMetaEntrySize: MAX_METADATA_BYTES });
  const ended = new Promise<void>((resolve, reject) => {
    parser.on("error", reject);
    parser.on("end", resolve);
  });
  ended.catch(() => undefined); // awaited below if nothing fails before
  parser.on("entry", (entry: ReadEntry) => {
    const why = check({ path: entry.path, type: entry.type });
    if (why !== undefined) refusal ??= refused(why);
    const visited = refusal === undefined ? visit(entry) : undefined;
    if (visited === undefined) {
      entry.resume();
      return;
    }
    visits.push(visited);
    visited.catch((error: unknown) => {
      refusal ??= error instanceof Error ? error : refused(messageOf(error));
      entry.resume();
    });
  });
  let metadata = 0;
  parser.on("meta", (text: string) => {
    metadata += text.length;
    if (metadata > ARCHIVE_BOUNDS.metadataChars)
      refusal ??= refused(`it has more than ${ARCHIVE_BOUNDS.metadataChars} characters of metadata`);
  });
  parser.on("ignoredEntry", () => (refusal ??= refused(`it has metadata of more than ${MAX_METADATA_BYTES} bytes`)));
  // After the end marker, data is only counted and no longer parsed: the library would store it all and copy it for
  // each chunk.
  let isOver = false;
  parser.on("eof", () => (isOver = true));
  const counted = countingTo(packed, limits, () => refusal);
  try {
    await pipeline(createReadStream(file), createGunzip(), counted, async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) if (!isOver && !parser.write(chunk)) await drained(parser);
      parser.end();
    });
    await ended;
    await Promise.all(visits);
  } catch (error) {
    throw error instanceof ArchiveRefusal ? error : (refusal ?? refused(messageOf(error)));
  }
  if (refusal) throw refusal;
}

function drained(parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once("drain", resolve);
    parser.once("error", reject);
  });
}

/** Size of a gzipped file. @throws ArchiveRefusal if it is not gzipped or too large */
async function packedSize(file: string, { packedBytes }: ArchiveLimits): Promise<number> {
  const handle = await open(file, constants.O_RDONLY);
  try {
    const { size } = await handle.stat();
    if (size > packedBytes) throw refused(`it has more than ${packedBytes} bytes`);
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

/** Most bytes that an archive of this size may unpack to. */
export function mostUnpacked(packed: number, { unpackedBytes }: ArchiveLimits): number {
  const { ratio, ratioFrom } = ARCHIVE_BOUNDS;
  return Math.min(unpackedBytes, Math.max(ratioFrom, packed * ratio));
}

/** Passes data through until a limit is exceeded or an entry was refused. */
function countingTo(packed: number, limits: ArchiveLimits, refusal: () => Error | undefined): Transform {
  const most = mostUnpacked(packed, limits);
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

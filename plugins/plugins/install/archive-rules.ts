/** Which archives are unpacked: what may stand in one, entry by entry. Pure. */
import { visible } from "@svc/sdk/cli";

/** What an archive may cost. Generous for a package of code; a larger one is a mistake or an attack. */
export const ARCHIVE_LIMITS = {
  /** Bytes of the file. npm's own registry takes no more than a few hundred MB; plugins have some hundred KB. */
  packedBytes: 128 * 1_024 * 1_024,
  /** Bytes of all of it unpacked: what a disk and a later hash of the tree can stand. */
  unpackedBytes: 512 * 1_024 * 1_024,
  /** Unpacked to packed. Code is 3 to 20 times smaller packed; a bomb is a thousand times. */
  ratio: 100,
  /** Bytes up to which the ratio is not looked at: small files of repeated text pack well. */
  ratioFrom: 16 * 1_024 * 1_024,
  /** Characters of extended headers, which no limit of entries covers. */
  metadataChars: 4 * 1_024 * 1_024,
  /** Files and directories, also those only named in paths: each costs an inode and a look at every start. */
  entries: 20_000,
  /** Bytes of one name: what file systems take. */
  nameBytes: 255,
  /** Bytes of a path, so that it fits below any state directory. */
  pathBytes: 512,
} as const;

/** What is looked at of an entry. */
export interface ArchiveEntry {
  readonly path: string;
  /** As the library for archives names it. */
  readonly type: string;
}

/** Where npm puts everything. */
const ROOT = "package";

/** Names that mean a device on some system, whatever follows the dot. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** Control characters, what some system takes for a separator or a stream, and what cannot be seen or turns the direction of writing. */
const ODD = /[\p{Cc}\\:*?"<>|\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd]/u;

const FILES: ReadonlySet<string> = new Set(["File", "OldFile", "ContiguousFile"]);

const tooMany = `it has more than ${ARCHIVE_LIMITS.entries} entries`;

/** @returns looks at the entries one after the other and says why the archive must not be unpacked, or `undefined` */
export function createEntryCheck(): (entry: ArchiveEntry) => string | undefined {
  const seen = new Map<string, Seen>();
  let count = 0;
  return ({ path, type }) => {
    const shown = `"${visible(path)}"`;
    if ((count += 1) > ARCHIVE_LIMITS.entries) return tooMany;
    const isFile = FILES.has(type);
    if (!isFile && type !== "Directory") return `${shown} is a ${type}; only files and directories are unpacked`;
    const wrong = nameProblem(path);
    if (wrong) return `${shown} ${wrong}`;
    return collision(seen, path.replace(/\/$/, ""), isFile);
  };
}

/** What is wrong with a name, or `undefined`. */
function nameProblem(path: string): string | undefined {
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "is an absolute path";
  if (ODD.test(path)) return "has a character that no file of a package needs";
  if (Buffer.byteLength(path) > ARCHIVE_LIMITS.pathBytes) return `is longer than ${ARCHIVE_LIMITS.pathBytes} bytes`;
  const parts = path.replace(/\/$/, "").split("/");
  if (parts.includes("..")) return "leads out of the archive";
  if (parts.some((part) => part === "" || part === ".")) return "is not written as a plain path";
  if (parts[0] !== ROOT) return `does not lie in ${ROOT}/, where packages have everything`;
  if (parts.some((part) => /[. ]$/.test(part))) return "ends with a dot or a space, which some systems drop";
  if (parts.some((part) => DEVICE.test(part))) return "has the name of a device";
  if (parts.some((part) => Buffer.byteLength(part) > ARCHIVE_LIMITS.nameBytes))
    return `has a name of more than ${ARCHIVE_LIMITS.nameBytes} bytes`;
  return undefined;
}

interface Seen {
  readonly path: string;
  readonly isFile: boolean;
}

/**
 * Two entries that some file system would take for one, or a file where another entry needs a directory. Goes up to the first directory
 * that is known: a look at every directory of every path would cost the square of its depth.
 */
function collision(seen: Map<string, Seen>, path: string, isFile: boolean): string | undefined {
  const key = path.normalize("NFKC").toLowerCase();
  const other = seen.get(key);
  if (other) {
    if (other.path === path && !other.isFile && !isFile) return undefined;
    return `"${visible(path)}" and "${visible(other.path)}" would be the same file`;
  }
  const slash = path.lastIndexOf("/");
  const above = slash < 0 ? undefined : collision(seen, path.slice(0, slash), false);
  if (above !== undefined) return above;
  if (seen.size >= ARCHIVE_LIMITS.entries) return tooMany;
  seen.set(key, { path, isFile });
  return undefined;
}

/** Rules for archives: which entries may be unpacked. Pure. */
import { visible } from "@svc/sdk/cli";

/** Limits of an archive. */
export interface ArchiveLimits {
  /** Maximum bytes of the archive file. */
  readonly packedBytes: number;
  /** Maximum unpacked bytes of all files: limits disk space and the time for hashing the files later. */
  readonly unpackedBytes: number;
  /** Maximum files and directories, including directories that only paths name: each needs an inode. */
  readonly entries: number;
}

/** Limits of every archive. */
export const ARCHIVE_BOUNDS = {
  /**
   * Maximum ratio of unpacked to packed bytes. Code compresses by a factor of 3 to 20, a decompression bomb by 1,000.
   */
  ratio: 100,
  /** Unpacked bytes up to which the ratio is ignored: small files of repeated text compress well. */
  ratioFrom: 16 * 1_024 * 1_024,
  /** Maximum characters of extended tar headers, which do not count as entries. */
  metadataChars: 4 * 1_024 * 1_024,
  /** Maximum bytes of one file name: the limit of file systems. */
  nameBytes: 255,
  /** Maximum bytes of a path: state directory and path together must stay within the path limit of the system. */
  pathBytes: 512,
} as const;

/** The properties of an entry that are checked. */
export interface ArchiveEntry {
  readonly path: string;
  /** Type name used by the tar library. */
  readonly type: string;
}

/** Names that Windows reserves for devices, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/**
 * Control characters, separators and stream markers of some systems, and invisible or direction-changing characters.
 */
const ODD = /[\p{Cc}\\:*?"<>|\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd]/u;

const FILES: ReadonlySet<string> = new Set(["File", "OldFile", "ContiguousFile"]);

/**
 * @param options.root directory that must contain every entry, e.g. `package`. Default: any
 * @returns a function that checks the entries in order and returns why the archive must not be unpacked, or `undefined`
 */
export function createEntryCheck({
  entries,
  root,
}: Pick<ArchiveLimits, "entries"> & { readonly root?: string }): (entry: ArchiveEntry) => string | undefined {
  const seen = new Map<string, Seen>();
  const tooMany = `it has more than ${entries} entries`;
  let count = 0;
  return ({ path, type }) => {
    const shown = `"${visible(path)}"`;
    if ((count += 1) > entries) return tooMany;
    const isFile = FILES.has(type);
    if (!isFile && type !== "Directory") return `${shown} is a ${type}; only files and directories are unpacked`;
    const wrong = nameProblem(path, root);
    if (wrong) return `${shown} ${wrong}`;
    return collision({ seen, entries, tooMany }, path.replace(/\/$/, ""), isFile);
  };
}

/** Why a name is not allowed, or `undefined`. */
function nameProblem(path: string, root: string | undefined): string | undefined {
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "is an absolute path";
  const [odd] = ODD.exec(path) ?? [];
  if (odd !== undefined) return `contains the character ${codePoint(odd)}, which is not allowed in file names`;
  if (Buffer.byteLength(path) > ARCHIVE_BOUNDS.pathBytes) return `is longer than ${ARCHIVE_BOUNDS.pathBytes} bytes`;
  const parts = path.replace(/\/$/, "").split("/");
  if (parts.includes("..")) return "leads out of the archive";
  if (parts.some((part) => part === "" || part === ".")) return "is not written as a plain path: remove `//` and `/./`";
  if (root !== undefined && parts[0] !== root) return `is not in ${root}/, the directory of all package files`;
  if (parts.some((part) => /[. ]$/.test(part))) return "contains a name that ends with a dot or a space";
  if (parts.some((part) => DEVICE.test(part))) return "contains a device name, which Windows reserves";
  if (parts.some((part) => Buffer.byteLength(part) > ARCHIVE_BOUNDS.nameBytes))
    return `contains a name of more than ${ARCHIVE_BOUNDS.nameBytes} bytes`;
  return undefined;
}

/** E.g. `U+003A`. */
const codePoint = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

interface Seen {
  readonly path: string;
  readonly isFile: boolean;
}

interface Known {
  readonly seen: Map<string, Seen>;
  readonly entries: number;
  readonly tooMany: string;
}

/**
 * Finds two entries with the same path on some file system, or a file where another entry needs a directory. Stops at
 * the first known directory above the entry: checking every directory of every path takes quadratic time in the path's
 * depth.
 */
function collision(known: Known, path: string, isFile: boolean): string | undefined {
  const { seen, entries, tooMany } = known;
  const key = path.normalize("NFKC").toLowerCase();
  const other = seen.get(key);
  if (other) {
    if (other.path === path && !other.isFile && !isFile) return undefined;
    if (other.isFile !== isFile) return `"${visible(path)}" would be a file and also a directory`;
    return `"${visible(path)}" and "${visible(other.path)}" would be the same file`;
  }
  const slash = path.lastIndexOf("/");
  const above = slash < 0 ? undefined : collision(known, path.slice(0, slash), false);
  if (above !== undefined) return above;
  if (seen.size >= entries) return tooMany;
  seen.set(key, { path, isFile });
  return undefined;
}

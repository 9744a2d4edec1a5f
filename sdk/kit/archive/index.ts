/** Archives of strangers: `@svc/kit/archive`. */
export { ARCHIVE_BOUNDS, type ArchiveLimits } from "./rules.ts";
export { ArchiveRefusal, readTar } from "./tar.ts";
export { unpackArchive } from "./unpack.ts";

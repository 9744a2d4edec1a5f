/** Archives of strangers: `@svc/kit/archive`. */
export * from "./rules.ts";
export { ArchiveRefusal, readTar, type TarReading } from "./tar.ts";
export { unpackArchive } from "./unpack.ts";

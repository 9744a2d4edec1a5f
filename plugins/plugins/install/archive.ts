/**
 * Inspects the archive of a package without unpacking it. Runs in a separate thread (`archive-thread.ts`).
 */
import { type ArchiveLimits, ArchiveRefusal, readTar } from "@svc/kit/archive";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** Facts about an archive. */
export interface ArchiveContent {
  /** Text of its package.json. */
  readonly packageJson: string;
}

/** Generous for a package of code; a larger archive is a mistake or an attack. */
export const PACKAGE_LIMITS: ArchiveLimits = {
  /** The npm registry accepts a few hundred MB; a plugin has a few hundred KB. */
  packedBytes: 128 * 1_024 * 1_024,
  unpackedBytes: 512 * 1_024 * 1_024,
  /** Each entry needs a check per start, too. */
  entries: 20_000,
};

/** Maximum bytes of a package.json. */
const LONGEST_PACKAGE_JSON = 1_024 * 1_024;
/** Top directory of every npm package. */
const ROOT = "package";

/** @throws ArchiveRefusal; errors of the file system */
export async function readArchive(file: string): Promise<ArchiveContent> {
  let packageJson: string | undefined;
  await readTar(file, {
    limits: PACKAGE_LIMITS,
    root: ROOT,
    visit(entry) {
      if (entry.path !== `${ROOT}/package.json` || entry.size > LONGEST_PACKAGE_JSON) return undefined;
      return entry.concat().then((bytes: Buffer) => void (packageJson = bytes.toString("utf8")));
    },
  });
  if (packageJson === undefined) throw new ArchiveRefusal("it has no package/package.json");
  return { packageJson };
}

/** Subresource integrity string of a file. */
export async function integrityOf(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}

/** Which versions of a file are kept. Pure. */

/** Choice: maximum number of versions of one file. */
export const MAX_VERSIONS = 50;
/** Choice: total bytes of all versions of one file; the newest version is always kept. */
export const MAX_TOTAL_BYTES = 8 * 1024 * 1024;

/** The facts about a version that `superfluous` needs. */
export interface KeptVersion {
  readonly version: number;
  /** Bytes of its text in the database. */
  readonly bytes: number;
  readonly runId?: string | undefined;
}

/**
 * Versions to delete, so that the others are within both limits. Versions that a run wrote and replaced itself are deleted
 * first: a run that writes a file repeatedly does not push out the content from before the run. Then the oldest.
 * @param versions oldest first
 */
export function superfluous(versions: readonly KeptVersion[]): readonly number[] {
  const isReplacedByItsRun = ({ runId }: KeptVersion, at: number) =>
    runId !== undefined && versions[at + 1]?.runId === runId;
  const older = versions.slice(0, -1);
  const order = [
    ...older.filter((version, at) => isReplacedByItsRun(version, at)),
    ...older.filter((version, at) => !isReplacedByItsRun(version, at)),
  ];
  let count = versions.length;
  let total = versions.reduce((sum, { bytes }) => sum + bytes, 0);
  const gone: number[] = [];
  for (const { version, bytes } of order) {
    if (count <= MAX_VERSIONS && total <= MAX_TOTAL_BYTES) break;
    gone.push(version);
    count -= 1;
    total -= bytes;
  }
  return gone;
}

/** Which versions of a file are kept. Pure. */

/** Choice: versions of one file that are kept. */
export const MAX_VERSIONS = 50;
/** Choice: bytes that all versions of one file have together; the newest is kept in any case. */
export const MAX_TOTAL_BYTES = 8 * 1024 * 1024;

/** What a decision needs to know of a version. */
export interface KeptVersion {
  readonly version: number;
  /** Bytes of its text in the database. */
  readonly bytes: number;
  readonly runId?: string | undefined;
}

/**
 * Versions that go, so that the others are within both limits. What a run wrote and replaced itself goes first: a run that
 * writes a file again and again does not push out what stood there before the run. After that, the oldest go.
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

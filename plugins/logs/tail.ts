/** Decides which bytes of the log a result covers, and splits them into lines. Pure. Spec: protocol/methods-logs.md. */

/** The range of bytes to read. */
export interface Window {
  readonly from: number;
  readonly to: number;
  /** Older requested bytes are left out. */
  readonly truncated: boolean;
  /** Whether the cursor cannot be used: the file shrank, or the cursor is too far behind. */
  readonly reset: boolean;
}

/** @param cursor where the last result ended; `undefined`: nothing was read before */
export function windowOf(size: number, maxBytes: number, cursor?: number): Window {
  if (cursor !== undefined && cursor <= size && size - cursor <= maxBytes)
    return { from: cursor, to: size, truncated: false, reset: false };
  const from = Math.max(0, size - maxBytes);
  return { from, to: size, truncated: from > 0, reset: cursor !== undefined };
}

type Keep = (line: string) => boolean;

/**
 * The last `limit` lines that `keep` accepts, and where the first line that was looked at begins. A window inside of one endless line gives
 * no line, and begins at 0.
 * @param startsInside the bytes begin inside a line, which is then dropped
 */
export function lastLines(
  bytes: Buffer,
  limit: number,
  startsInside: boolean,
  keep: Keep,
): { readonly lines: string[]; readonly begin: number } {
  const first = startsInside ? bytes.indexOf(10) + 1 || bytes.length : 0;
  const lines: string[] = [];
  let begin = bytes.length;
  let end = bytes.at(-1) === 10 ? bytes.length - 1 : bytes.length;
  while (begin > first && lines.length < limit) {
    begin = end === 0 ? 0 : bytes.lastIndexOf(10, end - 1) + 1;
    const line = bytes.toString("utf8", begin, end);
    if (keep(line)) lines.push(line);
    end = begin - 1;
  }
  return { lines: lines.reverse(), begin: begin === bytes.length ? 0 : begin };
}

/**
 * The first `limit` whole lines that `keep` accepts, and where they end; the next read begins there.
 * @param isAll nothing will be appended: a line without an end is returned as it is
 */
export function firstLines(
  bytes: Buffer,
  limit: number,
  isAll: boolean,
  keep: Keep,
): { readonly lines: string[]; readonly bytes: number } {
  const lines: string[] = [];
  let at = 0;
  while (lines.length < limit) {
    const end = bytes.indexOf(10, at);
    if (end === -1) break;
    const line = bytes.toString("utf8", at, end);
    if (keep(line)) lines.push(line);
    at = end + 1;
  }
  if (at > 0 || !isAll || bytes.length === 0) return { lines, bytes: at };
  const rest = bytes.toString("utf8");
  return { lines: keep(rest) ? [rest] : [], bytes: bytes.length };
}

/** Line-by-line difference of two short texts. Pure. */

/** Lines prefixed with `-` (only before), `+` (only after) or a space (both). For up to some hundred lines: time and memory are quadratic. */
export function difference(before: string, after: string): string[] {
  const [left, right] = [before, after].map((text) => text.split("\n"));
  if (!left || !right) return [];
  /** Length of the longest common subsequence of the lines from `[i]` and `[j]` on. */
  const common = left.map(() => right.map(() => 0));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const row = common[i];
      if (row) row[j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && left[i] === right[j]) {
      lines.push(` ${left[i]}`);
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`-${left[i]}`);
      i += 1;
    } else {
      lines.push(`+${right[j]}`);
      j += 1;
    }
  }
  return lines;
}

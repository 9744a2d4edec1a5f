/** Suggests the intended name for a misspelled one. Pure. */

/** Longer names are not compared: nobody types them, and a comparison costs the product of both lengths. */
const LONGEST = 200;

/**
 * The known name with the fewest typos; `undefined` if none is close. Choice: at most one typo per three characters and
 * two in total.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  const wanted = name.toLowerCase();
  let limit = Math.min(2, Math.floor(name.length / 3));
  let nearest: string | undefined;
  for (const other of known) {
    const slips = editDistance(wanted, other.toLowerCase(), limit);
    if (slips > limit || other === name) continue;
    nearest = other;
    limit = slips - 1; // only a closer match replaces it
    if (limit < 0) break;
  }
  return nearest;
}

/** Damerau-Levenshtein distance; any number above `limit` when it exceeds `limit`. */
export function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) > limit) return limit + 1;
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const here = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = one[row - 1] === other[at - 1];
      let least = Math.min((above[at] ?? 0) + 1, (here[at - 1] ?? 0) + 1, (above[at - 1] ?? 0) + (same ? 0 : 1));
      const swapped = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      if (swapped) least = Math.min(least, (before[at - 2] ?? 0) + 1);
      here.push(least);
    }
    if (Math.min(...here) > limit) return limit + 1;
    before = above;
    above = here;
  }
  return above[other.length] ?? limit + 1;
}

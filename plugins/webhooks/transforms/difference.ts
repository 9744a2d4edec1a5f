/** Compares the expected and the actual result of an example. Pure. */

/** First path at which two JSON values differ, `""` for the whole value; `undefined`: they are equal. */
export function differenceAt(left: unknown, right: unknown, place: string = ""): string | undefined {
  if (left === right) return undefined;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return place;
  if (Array.isArray(left) !== Array.isArray(right)) return place;
  const [one, other] = [left as Record<string, unknown>, right as Record<string, unknown>]; // arrays by index
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const at = `${place}/${key}`;
    if (!Object.hasOwn(one, key) || !Object.hasOwn(other, key)) return at;
    const found = differenceAt(one[key], other[key], at);
    if (found !== undefined) return found;
  }
  return undefined;
}

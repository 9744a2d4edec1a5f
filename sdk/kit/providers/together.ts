/** Work on items that arrived together. Not part of `@svc/kit/providers`. */

/** Yields the results of `read` for all items in one list, unless there are none. If it throws, yields the results so far first. */
export function* together<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => readonly Result[],
): Generator<readonly Result[], void, void> {
  const results: Result[] = [];
  try {
    for (const item of items) results.push(...read(item));
  } catch (error) {
    if (results.length > 0) yield results;
    throw error;
  }
  if (results.length > 0) yield results;
}

/** Data about the row that people chose in a list. */
import type { ViewContext } from "../core/app.ts";
import { createResource, type Resource } from "../core/resource.ts";

/**
 * Loads data when another row is chosen, when its stamp changes, and after a reconnect.
 * @param load its answer is dropped if another row was chosen meanwhile
 * @returns the data of a row. `stamp`: anything that changes with the row, e.g. the time of its last use
 */
export function createChosen<T>(
  context: ViewContext,
  load: (key: string) => Promise<T>,
): (key: string, stamp: unknown) => Resource<T> {
  let chosen: { readonly key: string; stamp: unknown; readonly data: Resource<T> } | undefined;
  context.onFresh(() => void chosen?.data.reload());
  return (key, stamp) => {
    if (chosen?.key !== key) {
      chosen = { key, stamp, data: createResource(() => load(key), context.redraw, context.signal) };
      void chosen.data.reload();
    } else if (chosen.stamp !== stamp) {
      chosen.stamp = stamp;
      void chosen.data.reload();
    }
    return chosen.data;
  };
}

/** Arrow keys in a long list: they move the focus from row to row. Each row marks what gets the focus with `data-focus`. */
import type { SvcRows } from "./rows.ts";

/** Where a key leads, from the focused row. */
const STEPS: Readonly<Record<string, (from: number, count: number) => number>> = {
  ArrowDown: (from) => from + 1,
  ArrowUp: (from) => from - 1,
  PageDown: (from) => from + 10,
  PageUp: (from) => from - 10,
  Home: () => 0,
  End: (_from, count) => count - 1,
};

/** Rows that get the focus in one of the next frames; further keys continue from there. */
const awaited = new WeakMap<SvcRows, number>();

/** Handler for `keydown` of `<svc-rows>`. @param count rows of the list */
export function moveInRows(event: KeyboardEvent, count: number): void {
  const step = STEPS[event.key];
  const target = event.target as Element;
  if (
    !step ||
    count === 0 ||
    event.ctrlKey ||
    event.altKey ||
    event.metaKey ||
    target.matches("input, select, textarea")
  )
    return;
  event.preventDefault();
  const list = event.currentTarget as SvcRows;
  const from = awaited.get(list) ?? Number(target.closest<HTMLElement>(".row")?.dataset["index"] ?? -1);
  const index = Math.min(Math.max(step(from, count), 0), count - 1);
  awaited.set(list, index);
  list.scrollToIndex(index, "auto");
  focusSoon(list, index, 10);
}

/** The row may only get into the document in one of the next frames. */
function focusSoon(list: SvcRows, index: number, frames: number): void {
  if (awaited.get(list) !== index) return;
  const found = list.querySelector<HTMLElement>(`.row[data-index="${index}"] [data-focus]`);
  if (!found && frames > 0) return void requestAnimationFrame(() => focusSoon(list, index, frames - 1));
  awaited.delete(list);
  found?.focus({ preventScroll: true });
}

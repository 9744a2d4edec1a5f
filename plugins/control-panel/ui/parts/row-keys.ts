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

/** Frames until the list scrolls to an absent row again, and until the key is given up. */
const FRAMES = 10;
const MOST_FRAMES = 100;

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
  focusSoon(list, index, MOST_FRAMES);
}

/** The row may only get into the document in one of the next frames: rows on the way are measured, which moves it. */
function focusSoon(list: SvcRows, index: number, frames: number): void {
  if (awaited.get(list) !== index) return;
  const active = document.activeElement;
  const isElsewhere = active !== document.body && !list.contains(active); // people went on
  if (isElsewhere) return void awaited.delete(list);
  if (frames % FRAMES === 0) list.scrollToIndex(index, "auto");
  const found = list.querySelector<HTMLElement>(`.row[data-index="${index}"] [data-focus]`);
  if (!found && frames > 0) return void requestAnimationFrame(() => focusSoon(list, index, frames - 1));
  awaited.delete(list);
  found?.focus({ preventScroll: true });
}

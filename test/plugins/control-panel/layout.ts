/** What every view must keep at the width of a phone. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** In the browser: elements that reach beyond the right edge, outside of those that scroll by themselves. */
const TOO_WIDE = `[...document.querySelectorAll("main, main *")]
  .filter((element) => !element.closest(".tabs, .table-scroll, pre, .unseen"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.tagName + " " + element.className)`;

/** Fails if people have to scroll sideways, or if something is cut at the right. */
export async function fitsWidth(page: Page): Promise<void> {
  assert.deepEqual(await page.evaluate(TOO_WIDE), []);
}

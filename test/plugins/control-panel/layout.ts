/** What every view must keep at the width of a phone. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** In the browser: elements that reach beyond the right edge, outside of those that scroll by themselves. */
const TOO_WIDE = `[...document.querySelectorAll("main, main *, dialog, dialog *")]
  .filter((element) => !element.closest(".tabs, .table-scroll, pre, .unseen"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.tagName + " " + element.className)`;

/** In the browser: what people have to scroll sideways. */
const SCROLLED = `[document.scrollingElement, ...document.querySelectorAll("main, dialog")]
  .filter((element) => element.scrollWidth > element.clientWidth)
  .map((element) => element.tagName)`;

/** Fails if people have to scroll sideways, or if something is cut at the right. @param what for the message of the failure */
export async function fitsWidth(page: Page, what?: string): Promise<void> {
  assert.deepEqual(await page.evaluate(`[...${TOO_WIDE}, ...${SCROLLED}]`), [], what);
}

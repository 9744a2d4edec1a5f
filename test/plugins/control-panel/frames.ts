/** How smooth a page is. */
import type { Page } from "playwright-core";

/** Waits until the page has drawn once. */
export async function frame(page: Page): Promise<void> {
  await page.evaluate("new Promise(requestAnimationFrame)");
}

/** Longest time between two frames while `work` scrolls, in ms: what people feel. */
export async function longestFrame(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(`(() => {
    const found = (globalThis.frames_ = { longest: 0, isOver: false });
    let last = performance.now();
    const tick = (now) => {
      found.longest = Math.max(found.longest, now - last);
      last = now;
      if (!found.isOver) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  })()`);
  await work();
  return page.evaluate<number>("((globalThis.frames_.isOver = true), Math.round(globalThis.frames_.longest))");
}

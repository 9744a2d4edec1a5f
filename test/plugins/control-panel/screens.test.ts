/**
 * Every view with real data, at desktop and phone width, light and dark: nothing is cut off, axe finds nothing serious.
 * Writes a picture of each to `.build/screens/` (or SVC_TEST_SCREENS).
 *
 * long: 75 pictures
 */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { it } from "node:test";
import type { Page } from "playwright-core";
import { root } from "../../checkout.ts";
import { without } from "../../programs.ts";
import { openPanel, type PageOptions } from "./browser-scene.ts";
import { seedEverything, SEEDED } from "./seed.ts";

const SCREENS = process.env["SVC_TEST_SCREENS"] ?? join(root, ".build/screens");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const VIEWS = [
  "chat",
  "sessions",
  "overview",
  "agents",
  "channels",
  "automations",
  "devices",
  "approvals",
  "skills",
  "memory",
  "usage",
  "plugins",
  "logs",
  "config",
  "setup",
];

const LOOKS: readonly (readonly [name: string, options: PageOptions])[] = [
  ["desktop-light", {}],
  ["desktop-dark", { theme: "dark" }],
  ["phone-light", { isPhone: true }],
  ["phone-dark", { isPhone: true, theme: "dark" }],
  ["phone-german", { isPhone: true, locale: "de-DE" }],
];

/** Controls that reach beyond the edge of the page and cannot be scrolled into sight. */
const CUT_OFF = `(() => {
  const scrolls = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth) return true;
    return false;
  };
  return [...document.querySelectorAll("button, a, input, select, textarea, h1, h2")]
    .filter((element) => element.checkVisibility() && !element.closest(".unseen, .skip, nav"))
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element))
    .map((element) => element.outerHTML.slice(0, 120));
})()`;

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly string[];
}

/** Serious and critical findings about what is shown now. */
async function findings(page: Page): Promise<readonly Violation[]> {
  return page.evaluate<Violation[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)) })))`);
}

it("every view pleases at every width and in both themes", { skip: without("chromium") }, async (t) => {
  const scene = await openPanel(t, SEEDED);
  await seedEverything(scene);
  mkdirSync(SCREENS, { recursive: true });
  const wrong: string[] = [];
  for (const [look, options] of LOOKS) {
    const page = await scene.open("/overview", { ...options, bypassesPolicy: true });
    await page.evaluate(AXE);
    for (const view of VIEWS) {
      await page.evaluate(`history.pushState(null, "", "/${view}"); dispatchEvent(new PopStateEvent("popstate"));`);
      await page.locator(`main[data-view="${view}"]`).waitFor();
      await page.waitForFunction(`!document.querySelector("main .waiting")`);
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: join(SCREENS, `${view}-${look}.png`) });
      const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (overflow > 0) wrong.push(`${view} ${look}: ${overflow} px wider than the page`);
      for (const cut of await page.evaluate<string[]>(CUT_OFF)) wrong.push(`${view} ${look}: cut off: ${cut}`);
      const text = await page.locator("main").innerText();
      if (text.trim().length < 20) wrong.push(`${view} ${look}: nothing is shown`);
      for (const { id, nodes } of await findings(page)) wrong.push(`${view} ${look}: ${id}: ${nodes.join(" ")}`);
    }
    await page.context().close();
  }
  assert.deepEqual(wrong, []);
});

/** The view Logs in a real browser. */
import assert from "node:assert/strict";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { logs } from "@svc/sdk/logs";
import { plugins } from "@svc/sdk/plugins";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { openPanel } from "./browser-scene.ts";
import { frame, longestFrame } from "./frames.ts";
import { fitsWidth } from "./layout.ts";

const EVIL = "<img src=x onerror=alert(1)>";
const line = (msg: string, more: object = {}) =>
  `${JSON.stringify({ level: 30, time: Date.now(), plugin: "guest", msg, ...more })}\n`;

it("follows the log, filters it, and shows one entry", { skip: without("chromium") }, async (t) => {
  const { client, open } = await openPanel(t, { config: { logging: { file: "own.log" } } });
  const { file } = await client.call(logs.tail, {});
  await appendFile(
    file,
    line(`quiet ${EVIL}`) +
      line("odd", {
        level: 50,
        deep: { list: ["a", "b"], why: EVIL },
        err: { message: "broke", stack: "Error: broke\n  at x" },
      }),
  );
  const page = await open("/logs");
  const log = page.getByRole("log");
  await log.getByText(`quiet ${EVIL}`).waitFor();
  await appendFile(file, line("live one") + "no json at all\n");
  await log.getByText("live one").waitFor();
  await log.getByText("no json at all").waitFor();

  await log.getByRole("button", { name: "odd: broke" }).click();
  await log.getByText("deep.why").waitFor();
  await log.getByText("a, b").waitFor();
  await log.getByText("at x").waitFor();

  await page.getByRole("combobox", { name: "Level" }).selectOption("error");
  await page.getByText("live one").waitFor({ state: "detached" });
  await log.getByText("odd: broke").waitFor();
  await page.getByRole("combobox", { name: "Level" }).selectOption("");
  await log.getByText("live one").waitFor();
  await page.getByRole("searchbox").fill("LIVE");
  await log.getByText("odd: broke").waitFor({ state: "detached" });
  await page.getByText("1 line", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await appendFile(file, line("live two"));
  await page.getByText("1 line · paused").waitFor();
  await page.getByRole("button", { name: "Continue" }).click();
  await log.getByText("live two").waitFor();
  await page.getByRole("searchbox").fill("nothing of that kind");
  await page.getByText("No line matches").waitFor();

  await client.call(plugins.disable, { id: "logs" });
  await page.getByRole("alert").getByText(/logs/).first().waitFor();
});

it("reads back to the first line, over all files", { skip: without("chromium") }, async (t) => {
  const { open } = await openPanel(t, {
    config: { logging: { file: "old/own.log" } },
    async prepare(stateDir) {
      await mkdir(join(stateDir, "old"));
      await writeFile(join(stateDir, "old/own.1.log"), line("the very first") + line("x").repeat(700));
      await writeFile(join(stateDir, "old/own.log"), line("start of the second") + line("y").repeat(1_500));
    },
  });
  const page = await open("/logs", { isPhone: true, theme: "dark" });
  await page.getByText("1,000 lines").waitFor();
  await fitsWidth(page);
  const older = page.getByRole("button", { name: "Older" });
  await older.click();
  await older.click(); // once the first one is done
  await page.getByText("2,202 lines").waitFor();
  const first = page.getByRole("log").getByText("the very first");
  await until(async () => {
    // Repeated: the list moves once more when the heights of the new rows are known.
    await page.locator("svc-rows").evaluate((list) => (list.scrollTop = 0));
    return first.isVisible();
  });
  assert.equal(await page.getByRole("alert").count(), 0);
});

it("holds 100,000 lines and lets the oldest go", { skip: without("chromium") }, async (t) => {
  const { client, open } = await openPanel(t, { config: { logging: { file: "own.log" } } });
  const { file } = await client.call(logs.tail, {});
  const page = await open("/logs");
  await page.getByText("No lines yet").waitFor();
  await appendFile(file, line("number 0"));
  await page.getByRole("log").getByText("number 0").waitFor();
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => line(`number ${from + n}`)).join("");
  const begun = performance.now();
  await appendFile(file, many(1, 98_999));
  await page.getByRole("log").getByText("number 98999", { exact: true }).waitFor();
  const read = performance.now() - begun;
  assert.ok((await page.locator("svc-rows .row").count()) < 80, "only the rows in sight are in the document");

  const list = page.locator("svc-rows");
  for (let settled = 0; settled < 10; settled++) await frame(page); // the list scrolls to its end in several steps
  const scrolling = await longestFrame(page, async () => {
    for (let step = 40; step >= 0; step--) {
      await list.evaluate(
        (element, part) => (element.scrollTop = 200 + (element.scrollHeight - 200) * part),
        step / 40,
      );
      await frame(page);
    }
  });
  t.diagnostic(`99,000 lines read after ${Math.round(read)} ms; longest frame of scrolling ${scrolling} ms`);

  await appendFile(file, many(99_000, 2_000));
  await page.getByText("100,000 lines · full, scroll to the end to continue").waitFor();
  const top = await list.evaluate((element) => element.scrollTop);
  await page.getByRole("button", { name: "To the end" }).click();
  await page.getByRole("log").getByText("number 100999", { exact: true }).waitFor();
  assert.notEqual(await list.evaluate((element) => element.scrollTop), top);
  await page.getByText("100,000 lines", { exact: true }).waitFor();
});

/** The view Memory in a real browser. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { memory } from "@svc/sdk/memory";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { openPanel } from "./browser-scene.ts";
import { fitsWidth } from "./layout.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";

/** Waits until the editor shows a text. */
const shows = (page: Page, text: string) =>
  until(async () => (await page.locator(".document textarea").inputValue()) === text, "the text");

it("searches, edits and indexes the memory", { skip: without("chromium") }, async (t) => {
  const { client, open, stateDir } = await openPanel(t, {
    async prepare(directory) {
      const notes = join(directory, "workspace", "memory");
      await mkdir(notes, { recursive: true });
      await writeFile(join(notes, "garden.md"), `# Garden\nTomatoes need water. ${HOSTILE}\n`);
      await writeFile(join(notes, "tea.md"), "# Tea\nAda likes green tea.\n");
    },
  });
  const page = await open("/overview");
  await page.getByRole("navigation").getByRole("link", { name: "Memory" }).click();
  const note = () => page.locator(".note textarea");

  await t.test("finds passages with score and source, and opens the note", async () => {
    await page.getByText("No index yet").waitFor();
    await page.getByRole("searchbox").fill("tomatoes");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByText("1 passage in 2 files, by keywords").waitFor();
    const place = page.getByRole("article");
    await place.getByText(HOSTILE).waitFor();
    await place.getByText("lines 1 to 2").waitFor();
    await place.getByText(/^score 0\.\d+$/).waitFor();
    await page.getByRole("button", { name: "Open memory/garden.md" }).click();
    await shows(page, `# Garden\nTomatoes need water. ${HOSTILE}\n`);
    await page.getByRole("searchbox").fill("submarine");
    await page.getByRole("searchbox").press("Enter");
    await page.getByText("Nothing matches").waitFor();
  });

  await t.test("saves a note, and keeps what somebody else wrote meanwhile", async () => {
    await note().fill("# Garden\nBasil.\n");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    const path = join(stateDir, "workspace", "memory", "garden.md");
    assert.equal(await readFile(path, "utf8"), "# Garden\nBasil.\n");
    await note().fill("mine");
    await writeFile(path, "theirs");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("changed elsewhere").waitFor();
    assert.equal(await readFile(path, "utf8"), "theirs");
    await page.getByRole("button", { name: "Use changed file" }).click();
    await shows(page, "theirs");
  });

  await t.test("creates a note, only where notes are", async () => {
    await page.getByRole("button", { name: "New note" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "File" }).fill("../svc.json");
    await dialog.getByRole("button", { name: "New note" }).click();
    await dialog.getByText("The file must be").waitFor();
    await dialog.getByRole("textbox", { name: "File" }).fill("memory/deep/er.md");
    await dialog.getByRole("button", { name: "New note" }).click();
    await page.locator(".note h3", { hasText: "memory/deep/er.md" }).waitFor();
    await note().fill("Pears.\n");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: /^memory\/deep\/er\.md/ }).waitFor();
    assert.equal((await client.call(memory.read, { path: "memory/deep/er.md" })).content, "Pears.\n");
  });

  await t.test("rebuilds the index after a question", async () => {
    await page.getByRole("button", { name: "Rebuild index" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rebuild index" }).click();
    await page.getByText("3 files indexed, 3 changed").waitFor();
    await page.locator("dt:text-is('Files') + dd", { hasText: /^3$/ }).waitFor();
  });

  await t.test("fits a phone", async () => {
    const phone = await open("/memory", { isPhone: true, theme: "dark" });
    await phone.getByRole("button", { name: /^memory\/tea\.md/ }).click();
    await phone.locator(".note textarea").waitFor();
    await fitsWidth(phone);
  });
});

/** What people write with in the view Chat, in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { chat } from "@svc/sdk/chat";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { openPanel } from "./browser-scene.ts";

const skip = without("chromium");
const config = { "provider-offline": { wordDelayMs: 0 } };
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const log = (page: Page) => page.getByRole("log");

it("completes commands by keyboard, and keeps the command beside its answer", { skip }, async (t) => {
  const { open } = await openPanel(t, { config });
  const page = await open("/chat");
  await field(page).pressSequentially("/wh");
  const list = page.getByRole("listbox", { name: "Commands" });
  await list.getByRole("option", { name: /whoami/ }).waitFor();
  assert.equal(await field(page).getAttribute("aria-expanded"), "true");
  assert.equal(await field(page).getAttribute("aria-activedescendant"), "chat-commands-whoami");
  await field(page).press("Enter");
  assert.equal(await field(page).inputValue(), "/whoami");
  await list.waitFor({ state: "detached" });
  await field(page).press("Enter");
  await log(page).locator(".echo").getByText("/whoami").waitFor();
  await log(page).locator(".answer").waitFor();

  await field(page).pressSequentially("/mo");
  await list.getByRole("option", { selected: true }).getByText("/model", { exact: true }).waitFor();
  await field(page).press("ArrowDown");
  await list.getByRole("option", { selected: true }).getByText("/models", { exact: true }).waitFor();
  await field(page).press("ArrowUp");
  await field(page).press("Tab");
  assert.equal(await field(page).inputValue(), "/model ", "room for an argument");
  await field(page).fill("/mo");
  await field(page).press("Escape");
  await list.waitFor({ state: "detached" });
  assert.equal(await field(page).inputValue(), "/mo");
});

it("keeps drafts of each conversation over a reload, and breaks lines with Shift", { skip }, async (t) => {
  const { open } = await openPanel(t, { config });
  const page = await open("/chat?session=agent:main:one");
  await field(page).pressSequentially("first");
  await field(page).press("Shift+Enter");
  await field(page).pressSequentially("second");
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.waitForURL(/web-/);
  await until(async () => (await field(page).inputValue()) === "", "an empty draft");
  await page.goBack();
  await page.waitForURL(/one$/);
  await until(async () => (await field(page).inputValue()) === "first\nsecond", "the draft");
  await page.reload();
  await page.locator(".composer textarea").waitFor();
  assert.equal(await field(page).inputValue(), "first\nsecond");
});

it("sends pictures, refuses other files with the reason, and shows what it sent", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config });
  const page = await open("/chat");
  const files = page.getByLabel("Attach pictures");
  await files.setInputFiles([
    { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("x") },
    { name: "big.png", mimeType: "image/png", buffer: Buffer.alloc(5_000_001) },
    { name: "dot.png", mimeType: "image/png", buffer: PNG },
    { name: "two.png", mimeType: "image/png", buffer: PNG },
  ]);
  await page.getByText("note.txt: only PNG, JPEG, GIF and WebP pictures can be attached.").waitFor();
  await page.getByText("big.png has 5 MB. The limit for a picture is 5 MB.").waitFor();
  await page.getByRole("button", { name: "Remove two.png" }).click();
  await page.evaluate(`{
    const bytes = Uint8Array.from(atob("${PNG.toString("base64")}"), (char) => char.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.querySelector(".composer textarea").dispatchEvent(event);
  }`);
  await page.getByRole("button", { name: "Remove pasted.png" }).waitFor();
  await field(page).fill("look");
  await field(page).press("Enter");
  await log(page).locator(".user img.picture").nth(1).waitFor();
  await log(page).locator(".answer").waitFor();
  const { messages } = await client.call(chat.history, { sessionKey: "agent:main:main" });
  const [{ content } = assert.fail()] = messages as { content: { type: string }[] }[];
  assert.deepEqual(content.map(({ type }) => type).toSorted(), ["image", "image", "text"]);

  await page.reload();
  await log(page)
    .getByText(/^Picture \(\d+ B\), not shown$/)
    .nth(1)
    .waitFor();
  await log(page).locator(".user").hover();
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.getByText("Its pictures are kept.").waitFor();
  await field(page).fill("look again");
  await field(page).press("Enter");
  await log(page).locator(".user").getByText("look again").waitFor();
  const again = await client.call(chat.history, { sessionKey: "agent:main:main" });
  const [edited = assert.fail()] = again.messages as { content: { type: string }[] }[];
  assert.equal(edited.content.filter(({ type }) => type === "image").length, 2);
});

it("does not draw the messages while people write", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config });
  const page = await open("/chat");
  await field(page).fill("echo hello");
  await field(page).press("Enter");
  await log(page).locator(".answer").getByText("hello", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop the answer" }).waitFor({ state: "detached" });
  await client.call(chat.history, { sessionKey: "agent:main:main" });
  await page.evaluate(`{
    globalThis.changes = 0;
    const all = { subtree: true, childList: true, attributes: true, characterData: true };
    new MutationObserver((list) => (changes += list.length)).observe(document.querySelector("svc-rows.messages"), all);
  }`);
  await field(page).pressSequentially("abcdefghijklmnopqrstuvwxyz");
  assert.equal(await field(page).inputValue(), "abcdefghijklmnopqrstuvwxyz");
  assert.equal(await page.evaluate("changes"), 0);
});

/** The view Sessions in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { chat } from "@svc/sdk/chat";
import { sessions } from "@svc/sdk/sessions";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { openWith } from "./fewer-rights.ts";
import { frame, longestFrame } from "./frames.ts";
import { fitsWidth } from "./layout.ts";
import { seedSessions } from "./usage-seed.ts";

const EVIL = "<img src=x onerror=alert(1)>";

it("finds, renames and deletes a session", { skip: without("chromium") }, async (t) => {
  const { client, open } = await openPanel(t);
  await client.call(sessions.patch, { key: "agent:main:alpha", label: `Alpha ${EVIL}` });
  await client.call(sessions.patch, { key: "agent:main:beta", label: "Beta" });
  const page = await open("/sessions");

  await page.getByRole("searchbox").fill("alpha");
  await page.getByText("1 session", { exact: true }).waitFor();
  await page.getByRole("listitem").first().waitFor();
  assert.equal(await page.getByRole("listitem").count(), 1);
  await page.getByRole("button", { name: "Rename Alpha" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Gamma");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("searchbox").fill("gamma");
  await page.getByRole("link", { name: "Gamma", exact: true }).waitFor();

  await page.getByRole("button", { name: "Delete Gamma" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No session matches the search").waitFor();
  const { sessions: left } = await client.call(sessions.list, {});
  assert.deepEqual(
    left.map(({ key }) => key),
    ["agent:main:beta"],
  );
});

it("stays smooth with 10,000 sessions, by mouse and keyboard", { skip: without("chromium") }, async (t) => {
  const { stateDir, open } = await openPanel(t);
  const now = Date.now();
  seedSessions(
    stateDir,
    Array.from({ length: 10_000 }, (_, n) => ({
      key: `agent:${n % 4 === 0 ? "helper" : "main"}:${["telegram:group", "slack:direct"][n % 2]}:c${n}`,
      label: `Talk ${n}`,
      updatedAt: now - n * 60_000,
      messages: [{ role: "user" as const, text: "hi", at: now - n * 60_000 }],
    })),
  );
  const begun = performance.now();
  const page = await open("/sessions");
  await page.getByRole("link", { name: "Talk 0", exact: true }).waitFor();
  const shown = performance.now() - begun;
  await page.getByText("10,000 sessions").waitFor();
  const all = performance.now() - begun;
  const list = page.locator("svc-rows");
  assert.ok((await list.locator(".row").count()) < 60, "only the rows in sight are in the document");

  const scrolling = await longestFrame(page, async () => {
    for (let step = 1; step <= 20; step++) {
      await list.evaluate((element, part) => (element.scrollTop = element.scrollHeight * part), step / 20);
      await frame(page);
    }
  });
  await page.getByRole("link", { name: "Talk 9999", exact: true }).waitFor();

  const before = performance.now();
  await page.getByRole("searchbox").fill("talk 123");
  await page.getByText("20 sessions").waitFor();
  const searching = performance.now() - before;
  await page.getByRole("combobox", { name: "Agent" }).selectOption("helper");
  await page.getByText("2 sessions").waitFor(); // 1232 and 1236
  await page.getByRole("combobox", { name: "Agent" }).selectOption("");
  await page.getByRole("searchbox").fill("");
  await page.getByRole("combobox", { name: "Last used" }).selectOption("60");
  await page.getByText("60 sessions").waitFor();
  await page.getByRole("combobox", { name: "Last used" }).selectOption("");
  await page.getByText("10,000 sessions").waitFor();
  await list.evaluate((element) => element.setAttribute("data-former", ""));
  await page.getByRole("combobox", { name: "Order" }).selectOption("title");
  await page.locator("svc-rows:not([data-former])").waitFor();
  t.diagnostic(
    `first rows after ${Math.round(shown)} ms, all after ${Math.round(all)} ms; search ${Math.round(searching)} ms; longest frame of scrolling ${scrolling} ms`,
  );

  await list.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.locator(":focus", { hasText: /^Talk 1$/ }).waitFor();
  await page.keyboard.press("End");
  await page.locator(":focus", { hasText: /^Talk 9999$/ }).waitFor();
  await page.keyboard.press("ArrowUp");
  await page.locator(":focus", { hasText: /^Talk 9998$/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/chat\?session=/);
  assert.match(decodeURIComponent(page.url()), /agent:main:telegram:group:c9998$/);
});

it("shows one session, live, and changes its settings", { skip: without("chromium") }, async (t) => {
  const { client, open } = await openPanel(t);
  const key = "agent:main:irc:group:room";
  await client.call(sessions.patch, { key, label: "Room", sendPolicy: "deny" });
  await client.call(sessions.patch, { key: "agent:main:taken", label: "Taken" });
  const page = await open("/sessions");
  await page.getByRole("button", { name: "Details of Room" }).click();
  const panel = page.getByRole("complementary", { name: "Room" });
  await panel.getByText("No message yet").waitFor();

  await client.call(sessions.patch, { key, sendPolicy: null });
  await client.call(chat.send, { sessionKey: key, message: `echo ${EVIL}`, idempotencyKey: "one" });
  await panel.getByText(`echo ${EVIL}`).waitFor(); // by the event of the reply
  await panel.getByText(EVIL, { exact: true }).waitFor();

  await panel.getByRole("tab", { name: "Messages" }).press("ArrowRight");
  await panel.getByRole("combobox", { name: "Thinking" }).selectOption("low");
  await panel.getByRole("combobox", { name: "Commands at most" }).selectOption("allowlist");
  await panel.getByRole("combobox", { name: "Answers in the group" }).selectOption("always");
  await panel.getByRole("textbox", { name: "Name" }).fill("Taken");
  await panel.getByRole("button", { name: "Save" }).click();
  await panel.getByRole("alert").getByText(/Taken/).waitFor();
  assert.equal(await panel.getByRole("combobox", { name: "Thinking" }).inputValue(), "low", "a failure loses nothing");
  await panel.getByRole("textbox", { name: "Name" }).fill("Hall");
  await panel.getByRole("button", { name: "Save" }).click();
  await page.getByRole("complementary", { name: "Hall" }).waitFor();
  const [row] = (await client.call(sessions.list, { key })).sessions;
  assert.deepEqual(
    [row?.label, row?.thinkingLevel, row?.execSecurity, row?.groupActivation],
    ["Hall", "low", "allowlist", "always"],
  );
  const hall = page.getByRole("complementary", { name: "Hall" });
  await hall.getByRole("combobox", { name: "Thinking" }).selectOption("");
  await hall.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").first().waitFor();
  assert.equal(await hall.getByRole("combobox", { name: "Commands at most" }).inputValue(), "allowlist");

  await hall.getByRole("button", { name: "Compact" }).click();
  await page.getByRole("spinbutton").fill("1");
  await page.getByRole("dialog").getByRole("button", { name: "Compact" }).click();
  await page.getByText("1 message stays").waitFor();
  await hall.getByRole("tab", { name: "Origin" }).click();
  await hall.getByText(key).waitFor();
  await hall.getByRole("tab", { name: "Usage" }).click();
  await hall.getByText("Time to reply").waitFor();
  await page.keyboard.press("Escape");
  await hall.waitFor({ state: "detached" });
});

it("fits a phone, and hides changes from people who may not make them", { skip: without("chromium") }, async (t) => {
  const scene = await openPanel(t);
  await scene.client.call(sessions.patch, { key: "agent:main:alpha", label: "Alpha ".repeat(10) });
  const phone = await scene.open("/sessions", { isPhone: true, theme: "dark" });
  await phone.getByRole("button", { name: "Details of Alpha" }).click();
  await phone.getByRole("complementary").waitFor();
  await fitsWidth(phone);
  await phone.getByRole("complementary").getByRole("button", { name: "Close" }).click();
  await fitsWidth(phone);

  const reader = await openWith(scene, "/sessions", ["operator.read"]);
  await reader.getByRole("button", { name: "Details of Alpha" }).click();
  await reader.getByRole("tab", { name: "Origin" }).waitFor();
  assert.equal(await reader.getByRole("tab", { name: "Settings" }).count(), 0);
  assert.equal(await reader.getByRole("button", { name: /Delete|Rename|Compact|Start over/ }).count(), 0);
});

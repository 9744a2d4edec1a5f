/**
 * The newest web panel of an existing client, served by this gateway, beside a client of protocol 3 that shows the same conversation. Spec:
 * protocol 4 §4.3.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { chat, chatEvent, sessionMessage, sessionMessages } from "@svc/sdk/chat";
import { cron } from "@svc/sdk/cron";
import { sessions } from "@svc/sdk/sessions";
import type { Page } from "playwright-core";
import { launchBrowser } from "../../page-browser.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { PANEL, withNewest, withoutNewest } from "./newest.ts";

const skip = withoutNewest || without("chromium");
const SESSION = "agent:main:main";
/** Pages, and a text that each shows. */
const PAGES: readonly (readonly [path: string, text: RegExp])[] = [
  ["sessions", /agent:main:main/],
  ["agents", /Who is on your team/],
  ["automations", /hourly/],
  ["usage", /Daily Token Usage/],
  ["logs", /svc-.*\.log/],
  ["debug", /Debug/],
  ["settings/channels", /Telegram/],
  ["settings/devices", /Default binding/],
  ["settings/config", /\w/],
];
/** Methods without which the panel only hides a part of a page. */
const HIDDEN = [
  "openclaw.approval.list",
  "sessions.observer.visibility",
  "sessions.branches.list",
  "sessions.companion.state",
  "progressCard.get",
  "talk.catalog",
  "tasks.list",
  "themes.list",
  "diagnostics.lanes",
];

/** Calls that the gateway refuses, by method. */
function refusals(page: Page): string[] {
  const refused: string[] = [];
  const methods = new Map<string, string>();
  page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => {
      const { id, method } = JSON.parse(String(payload)) as { id: string; method: string };
      methods.set(id, method);
    });
    socket.on("framereceived", ({ payload }) => {
      const { id, ok, error } = JSON.parse(String(payload)) as {
        id: string;
        ok?: boolean;
        error?: { message: string };
      };
      const method = methods.get(id) ?? id;
      if (ok === false && !HIDDEN.includes(method)) refused.push(`${method}: ${error?.message}`);
    });
  });
  return refused;
}

it("chats, stops a reply, shows the history and every page without an error", { skip, timeout: 900_000 }, async (t) => {
  const { gateway } = await withNewest(t, { gateway: { controlUi: { root: PANEL } } });
  const client = await gateway.connect();
  t.after(() => client.close());
  await client.call(sessions.create, { key: "main" });
  await client.call(chat.inject, { sessionKey: SESSION, message: "an earlier message" });
  const job = { name: "hourly", text: "echo", schedule: { everyMs: 3_600_000 } };
  await client.call(cron.add, { ...job, enabled: false });
  const finals: string[] = [];
  client.on(chatEvent, ({ state, runId }) => {
    if (state !== "delta") finals.push(`${runId} ${state}`);
  });
  const heard: string[] = [];
  client.on(sessionMessage, ({ message }) => heard.push(JSON.stringify(message)));
  await client.call(sessionMessages.subscribe, { key: SESSION });

  const browser = await launchBrowser();
  t.after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (said) => {
    if (said.type() === "error" && /Content Security Policy/.test(said.text())) problems.push(said.text());
  });
  const refused = refusals(page);
  const address = gateway.url.replace(/^ws/, "http");
  await page.goto(`${address}/chat#token=${gateway.token}`);
  await page.getByText("an earlier message").first().waitFor();

  const box = page.locator("textarea[placeholder^=Message]");
  await box.fill("echo one-reply");
  await box.press("Enter");
  const said = (text: string) => page.locator("p").filter({ hasText: new RegExp(`^${text}$`) });
  await said("one-reply").waitFor();
  await until(() => finals.length === 1, "the end of the run");
  assert.equal(await said("one-reply").count(), 1, "the reply is shown once");
  assert.ok(
    heard.some((message) => message.includes("one-reply")),
    "the client of protocol 3 sees it, too",
  );

  await box.fill(`echo ${"many words ".repeat(500)}`);
  await box.press("Enter");
  const stop = page.getByRole("button", { name: /stop/i }).first();
  await stop.click();
  await until(() => finals.some((final) => final.endsWith("aborted")), "the abort");

  await client.call(chat.send, { sessionKey: SESSION, message: "echo from-elsewhere", idempotencyKey: "elsewhere" });
  await said("from-elsewhere").waitFor();

  for (const [path, text] of PAGES) {
    await page.goto(`${address}/${path}`);
    await page.getByText(text).first().waitFor();
  }
  assert.deepEqual(refused, []);
  assert.deepEqual(problems, []);
});

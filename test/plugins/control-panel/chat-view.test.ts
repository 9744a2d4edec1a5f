/** The view Chat in a real browser: conversations, history, replies. What people write with is in chat-composer-view.test.ts. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { chat } from "@svc/sdk/chat";
import { sessions } from "@svc/sdk/sessions";
import { execApproval } from "@svc/sdk/approvals";
import type { GatewayClient } from "@svc/sdk/client";
import type { Page } from "playwright-core";
import { startGatewayProcess } from "../../gateway-process.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { openPanel } from "./browser-scene.ts";

const skip = without("chromium");
const MAIN = "agent:main:main";
const FAST = { "provider-offline": { wordDelayMs: 0 } };
/** A word each 150 ms: a reply that can be watched and stopped. */
const SLOW = { "provider-offline": { wordDelayMs: 150 } };
/** A model server that nobody runs. */
const BROKEN = {
  models: { providers: { gone: { baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", models: [{ id: "m" }] } } },
  agents: { defaults: { model: "gone/m" } },
};

const log = (page: Page) => page.getByRole("log");
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const says = async (page: Page, text: string) => {
  await field(page).fill(text);
  await field(page).press("Enter");
};
const inject = (client: GatewayClient, message: string, sessionKey = MAIN) =>
  client.call(chat.inject, { sessionKey, message });
/** Starts a conversation, so that texts can be injected. */
const create = (client: GatewayClient, key = MAIN) => client.call(sessions.patch, { key, label: null });

/** Texts of the messages that the gateway keeps. */
async function stored(client: GatewayClient, sessionKey = MAIN): Promise<readonly string[]> {
  const { messages } = await client.call(chat.history, { sessionKey });
  return messages.map((message) => {
    const { content } = message as { content: readonly { text?: string }[] };
    return content.map(({ text = "" }) => text).join("");
  });
}

/** When the last message was written, epoch ms. */
async function lastAt(client: GatewayClient): Promise<unknown> {
  const { messages } = await client.call(chat.history, { sessionKey: MAIN });
  return Object(messages.at(-1)).timestamp;
}

it("answers after two clicks, shows tool calls as facts, and answers again", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config: FAST });
  const page = await open("/");
  await page.getByRole("button", { name: "What can you do?" }).click();
  await log(page).getByText("I am the offline responder").waitFor();
  await says(page, "status");
  const tool = log(page).locator(".tool.done");
  await tool.waitFor();
  await tool.locator("summary").click();
  await tool.getByRole("heading", { name: "Result" }).waitFor();
  assert.match(await tool.innerText(), /session_status/);
  assert.equal((await tool.innerText()).includes("{"), false, "no JSON");

  const before = await stored(client);
  const at = await lastAt(client);
  await page.getByRole("button", { name: "Answer again" }).click();
  await until(
    async () => (await lastAt(client)) !== at && (await stored(client)).length >= before.length,
    "the answer",
  );
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  await log(page).locator(".tool.done").waitFor();
  const after = await stored(client);
  assert.equal(after.length, before.length, "the former answer left the conversation");
});

it("streams to every browser, stops with Escape, and announces the end once", { skip }, async (t) => {
  const { open } = await openPanel(t, { config: SLOW });
  const page = await open("/chat");
  const other = await open("/chat");
  const words = Array.from({ length: 200 }, (_, index) => `w${index}`).join(" ");
  await says(page, `echo ${words}`);
  for (const browser of [page, other]) await log(browser).locator(".live").getByText("w0 w1 w2").waitFor();
  await field(page).press("Escape");
  for (const browser of [page, other]) {
    await log(browser).getByText("Stopped", { exact: true }).waitFor();
    await log(browser).locator(".live").waitFor({ state: "detached" });
    assert.equal(await log(browser).getByText("w199").count(), 1, "only in the question");
  }
  await says(page, "echo all done");
  await page.getByRole("status").filter({ hasText: "Assistant answered: all done" }).waitFor({ state: "attached" });
  await log(other).locator(".answer").getByText("all done").waitFor();
});

it("loads older messages without moving those in sight, and searches them", { skip }, async (t) => {
  const { open, client } = await openPanel(t);
  await create(client);
  for (let number = 1; number <= 250; number++) await inject(client, `Message number ${number}.`);
  const page = await open("/chat");
  await log(page).getByText("Message number 250.").waitFor();
  const box = page.locator("svc-rows.messages");
  const y = async (text: string) => (await log(page).getByText(text, { exact: true }).boundingBox())?.y ?? Number.NaN;
  await box.evaluate((element) => element.scrollTo(0, 100));
  await log(page).getByText("Message number 153.").waitFor();
  await page.getByRole("button", { name: "To the end" }).waitFor();
  const held = await y("Message number 153.");
  await box.evaluate((element) => element.scrollTo(0, 60)); // loads the older page
  await until(async () => (await box.evaluate((element) => element.scrollHeight)) > 15_000);
  await log(page).getByText("Message number 149.", { exact: true }).waitFor();
  assert.ok(Math.abs((await y("Message number 153.")) - held - 40) < 4, "it moved only as far as people scrolled");

  await page.keyboard.press("Control+f");
  await page.getByRole("searchbox", { name: "Search in the conversation" }).fill("number 7.");
  await page.getByText("1 of 1").waitFor();
  await log(page).locator(".found").getByText("Message number 7.", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "To the end" }).click();
  await log(page).getByText("Message number 250.").waitFor();
});

it("stops loading older messages while there is no connection", { skip }, async (t) => {
  const { open, client, gateway } = await openPanel(t);
  await create(client);
  for (let number = 1; number <= 101; number++) await inject(client, `Message number ${number}.`);
  const page = await open("/chat");
  await log(page).getByText("Message number 101.").waitFor();
  await page.keyboard.press("Control+f");
  await gateway.kill("SIGKILL");
  await page.getByText("Reconnecting").waitFor();
  const more = page.getByRole("button", { name: "Load older messages" });
  await more.click();
  await more.click(); // it may be tried again
  await page.getByRole("searchbox", { name: "Search in the conversation" }).fill("number 101.");
  await page.getByText("1 of 1").waitFor();
});

it("says so when a block of code cannot be copied", { skip }, async (t) => {
  const { open, client } = await openPanel(t);
  await create(client);
  await inject(client, "```sh\nuptime\n```");
  const page = await open("/chat");
  await page.evaluate(`Object.defineProperty(navigator, "clipboard", { value: undefined })`); // as over plain HTTP
  await log(page).locator(".code").getByRole("button", { name: "Copy" }).click();
  await page.getByText("The browser blocks copying").waitFor();
});

it("goes on from an edited message", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config: FAST });
  const page = await open("/chat");
  for (const word of ["first", "second", "third"]) {
    await says(page, `echo ${word}`);
    await log(page).locator(".answer").getByText(word, { exact: true }).waitFor();
  }
  await log(page).locator(".user").filter({ hasText: "echo second" }).hover();
  await log(page).locator(".user").filter({ hasText: "echo second" }).getByRole("button", { name: "Edit" }).click();
  assert.equal(await field(page).inputValue(), "echo second");
  await says(page, "echo changed");
  await log(page).locator(".answer").getByText("changed", { exact: true }).waitFor();
  await log(page).getByText("third").first().waitFor({ state: "detached" });
  assert.deepEqual(await stored(client), ["echo first", "first", "echo changed", "changed"]);

  await field(page).press("ArrowUp");
  assert.equal(await field(page).inputValue(), "echo changed");
  await field(page).press("Escape");
  assert.equal(await field(page).inputValue(), "");
});

it("shows waiting messages and takes them back", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config: SLOW });
  const page = await open("/chat");
  await says(page, `echo ${"a ".repeat(60)}`);
  await log(page).locator(".live").waitFor();
  await says(page, "echo dropped");
  await says(page, "echo kept");
  await log(page).getByText("Queued").nth(1).waitFor();
  const dropped = log(page).locator(".outgoing").filter({ hasText: "echo dropped" });
  await dropped.getByRole("button", { name: "Withdraw" }).click();
  await dropped.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Stop the answer" }).waitFor();
  await log(page).locator(".answer").getByText("kept", { exact: true }).waitFor();
  assert.equal(
    (await stored(client)).some((text) => text.includes("dropped")),
    false,
  );
});

it("says why an answer failed, and tries again", { skip }, async (t) => {
  const { open } = await openPanel(t, { config: BROKEN });
  const page = await open("/chat");
  await says(page, "hello");
  const failure = log(page).locator(".notice.bad");
  await failure.getByText("The answer failed").waitFor();
  assert.match(await failure.innerText(), /gone|127\.0\.0\.1|model/i);
  await failure.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Stop the answer" }).waitFor({ state: "detached" });
  await failure.getByText("The answer failed").waitFor();
  assert.equal(await log(page).locator(".user").count(), 1, "the message is not repeated");
});

const HOSTILE = [
  "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'><svg onload='window.hacked = 3'></svg>",
  "[a](javascript:window.hacked=4) [b](data:text/html,<script>window.hacked=5</script>) [c](https://example.org/ok)",
  "![remote](https://evil.example/pixel.png) <form action='https://evil.example'><input name=q><button>go</button></form>",
  "<style>body { display: none }</style><iframe src='https://evil.example'></iframe><div style='position:fixed'>x</div>",
].join("\n\n");

it("shows hostile texts as text, without any request", { skip }, async (t) => {
  const { open, client } = await openPanel(t); // the scene fails at any request to another server
  await create(client);
  await inject(client, HOSTILE);
  await client.call(sessions.patch, { key: MAIN, label: "<img src=x onerror=alert(1)>" });
  const page = await open("/chat");
  const answer = log(page).locator(".answer");
  await answer.getByRole("link", { name: "c", exact: true }).waitFor();
  assert.equal(await page.evaluate("globalThis.hacked"), undefined);
  const bad =
    "script, svg[onload], form, style, iframe, img, button:not(.plain), input, [style*=fixed], [onerror], [href^='javascript'], [href^='data']";
  assert.equal(await answer.locator(".prose").locator(bad).count(), 0);
  const link = answer.getByRole("link", { name: "c", exact: true });
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
  assert.equal(
    await answer.getByRole("link", { name: "remote" }).getAttribute("href"),
    "https://evil.example/pixel.png",
  );
  await page.getByRole("heading", { name: "<img src=x onerror=alert(1)>" }).waitFor();
});

it("goes on after a restart of the gateway in the middle of a conversation", { skip }, async (t) => {
  const { open, gateway, stateDir } = await openPanel(t, { config: FAST });
  const page = await open("/chat");
  await says(page, "echo before");
  await log(page).locator(".answer").getByText("before", { exact: true }).waitFor();
  await gateway.kill("SIGKILL");
  await page.getByText("Reconnecting").waitFor();
  await says(page, "echo meanwhile");
  await log(page).getByText("Waiting for the connection").waitFor();
  const again = await startGatewayProcess(stateDir, {}, { port: new URL(gateway.url).port });
  t.after(() => again.kill("SIGTERM"));
  await log(page).locator(".answer").getByText("meanwhile", { exact: true }).waitFor({ timeout: 60_000 });
  assert.equal(await log(page).locator(".user").filter({ hasText: "echo meanwhile" }).count(), 1);
  assert.equal(await log(page).locator(".outgoing").count(), 0);
});

it("keeps a message that could not be sent as a draft when people go elsewhere", { skip }, async (t) => {
  const { open, gateway } = await openPanel(t, { config: FAST });
  const page = await open("/overview"); // its files can be loaded only now
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await field(page).waitFor();
  await gateway.kill("SIGKILL");
  await page.getByText("Reconnecting").waitFor();
  await says(page, "echo later");
  await log(page).getByText("Waiting for the connection").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await field(page).waitFor();
  assert.equal(await field(page).inputValue(), "echo later");
});

it("speaks another language at once, and closes dialogs with the way back", { skip }, async (t) => {
  const { open } = await openPanel(t, { config: FAST });
  const page = await open("/overview");
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await field(page).fill("half a sentence");
  await page.getByRole("button", { name: "Panel settings" }).click();
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("button", { name: "Schließen" }).click();
  await page.getByPlaceholder("Nachricht an Assistant").waitFor();
  await page.getByPlaceholder("Gespräche suchen").waitFor();
  assert.equal(await page.getByPlaceholder("Nachricht an Assistant").inputValue(), "half a sentence");
  await page.locator("header.bar button").last().click();
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

it("switches, starts, renames and deletes conversations", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config: FAST });
  for (const name of ["alpha", "beta"]) {
    await create(client, `agent:main:${name}`);
    await inject(client, `Hello from ${name}`, `agent:main:${name}`);
    await client.call(sessions.patch, { key: `agent:main:${name}`, label: name });
  }
  const page = await open("/chat?session=agent:main:alpha");
  await log(page).getByText("Hello from alpha").waitFor();
  const list = page.getByRole("complementary", { name: "Conversations" });
  await list.getByRole("link", { name: /^beta/ }).click();
  await log(page).getByText("Hello from beta").waitFor();
  assert.match(page.url(), /session=agent%3Amain%3Abeta$/);
  await inject(client, "News", "agent:main:alpha");
  await list
    .getByRole("link", { name: /^alpha/ })
    .getByLabel("unread")
    .waitFor();

  const act = async (name: string) => {
    await page.getByLabel("More actions").click();
    await page.getByRole("button", { name, exact: true }).click();
  };
  await act("Rename");
  await page.getByRole("dialog").getByLabel("Name").fill("gamma");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "gamma" }).waitFor();
  await act("Start over");
  await page.getByRole("dialog").getByRole("button", { name: "Start over" }).click();
  await page.getByText("Hello, I am Assistant").waitFor();
  await act("Delete conversation");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await list.getByRole("link", { name: /^gamma/ }).waitFor({ state: "detached" });

  await list.getByRole("button", { name: "New conversation" }).click();
  await says(page, "echo fresh");
  await log(page).locator(".answer").getByText("fresh", { exact: true }).waitFor();
  assert.match(page.url(), /session=agent%3Amain%3Aweb-[0-9a-f]{8}$/);
  await list.getByRole("link", { name: /^echo fresh/ }).waitFor();
});

it(
  "stays in a conversation that people opened before the end of a deletion, and sends there what they type at once",
  { skip },
  async (t) => {
    const { open, client } = await openPanel(t, { config: FAST });
    await create(client, "agent:main:alpha");
    const page = await open("/chat?session=agent:main:alpha");
    await page.getByText("Hello, I am Assistant").waitFor();
    await page.getByLabel("More actions").click();
    await page.getByRole("button", { name: "Delete conversation", exact: true }).click();
    await page.evaluate(`
    const start = [...document.querySelectorAll("button")].find((one) => one.textContent.includes("New conversation"));
    const typeAtOnce = () => {
      const field = document.querySelector("textarea");
      field.value = "echo fresh";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    };
    const act = () => {
      start.click();
      setTimeout(typeAtOnce); // before the next frame
    };
    document.addEventListener("close", act, { capture: true, once: true });
  `);
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await log(page).locator(".answer").getByText("fresh", { exact: true }).waitFor();
    assert.match(page.url(), /session=agent%3Amain%3Aweb-[0-9a-f]{8}$/);
  },
);

it("asks for approvals of its conversation, and shows no others", { skip }, async (t) => {
  const { open, client } = await openPanel(t);
  const page = await open("/chat");
  await page.getByText("Hello, I am Assistant").waitFor();
  const ask = (command: string, sessionKey: string) =>
    client.call(execApproval.request, { id: randomUUID(), command, sessionKey, timeoutMs: 60_000 });
  const elsewhere = ask("echo elsewhere", "agent:main:other");
  const here = ask("echo <b>here</b>", MAIN);
  const card = page.getByRole("region", { name: "A command needs" });
  await card.getByText("echo <b>here</b>").waitFor();
  assert.equal(await card.count(), 1);
  await card.getByRole("button", { name: "Allow once" }).click();
  assert.equal((await here).decision, "allow-once");
  await card.waitFor({ state: "detached" });
  const { approvals } = await client.call(execApproval.list, {});
  const open2 = approvals.find(({ status }) => status === "pending") ?? assert.fail();
  await client.call(execApproval.resolve, { id: open2.id, decision: "deny" });
  assert.equal((await elsewhere).decision, "deny");
});

it("fits a phone: the list of conversations is a sheet", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config: FAST });
  await create(client, "agent:main:alpha");
  await client.call(sessions.patch, { key: "agent:main:alpha", label: "alpha" });
  const page = await open("/chat", { isPhone: true, locale: "de-DE" });
  await page.getByText("Hallo, ich bin Assistant").waitFor();
  await page.getByRole("button", { name: "Gespräche" }).click();
  const sheet = page.getByRole("dialog", { name: "Gespräche" });
  await sheet.getByRole("link", { name: /^alpha/ }).click();
  await sheet.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "alpha" }).waitFor();
  await page.getByLabel("Nachricht", { exact: true }).fill("echo hallo");
  await page.getByRole("button", { name: "Senden" }).click();
  await log(page).locator(".answer").getByText("hallo", { exact: true }).waitFor();
  const width = await page.evaluate("document.documentElement.scrollWidth");
  assert.equal(width, 390);
});

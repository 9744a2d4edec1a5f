/** The widget in a real Chromium, on a page of another origin with a strict content security policy. */
// own process: starts a browser
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { hashOf } from "../../../plugins/webchat/store.ts";
import { startScene } from "../channels/scene.ts";
import { launchBrowser } from "../../page-browser.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";

const HOSTILE = [
  "echo <img src=x onerror=\"document.title='broken'\"> [click](javascript:document.title='broken') [data](data:text/html,x)",
  "[fine](https://example.com/a_b_c) **bold** *slanted* `code <b>`",
  "",
  "- one",
  "- two",
  "",
  "```html",
  "<script>document.title='broken'</script>",
  "```",
].join("\n");

/** Ada is a person the agent works for: the words of strangers are marked, and the model of the test obeys them not. */
const TOKEN = "the-token-of-ada";
const PERSON = { allowFrom: ["ada"] };

let browser: Browser;
/** Directory for pictures, for people who look at them. */
const PICTURES = process.env["SVC_TEST_PICTURES"];

describe("the widget", { skip: without("chromium"), timeout: 180_000 }, () => {
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());

  it("talks, shows the answer as it is written, and shows the conversation after a reload", async (t) => {
    const { open, heading } = await site(t, { ...PERSON, greeting: "Hello! **Ask** us anything." });
    const page = await open();
    await page.getByRole("button", { name: heading }).click();
    await page.getByText("Hello! Ask us anything.").waitFor();
    await say(page, "echo one two three four five six seven eight nine ten");
    const answer = page.locator(".message.agent").last();
    await until(async () => (await answer.innerText()).startsWith("one"), "the draft");
    await until(async () => (await answer.innerText()).endsWith("ten"), "the answer");
    assert.equal(await page.locator(".message.agent").count(), 2, "the draft grew");
    assert.equal(await page.locator(".message.waiting, .message.failed").count(), 0);
    await say(page, HOSTILE);
    // the own message has the word too
    const last = page.locator(".message.agent:last-child").getByText("slanted");
    await last.waitFor();
    await until(async () => (await page.locator(".message").count()) === 5, "the whole conversation");
    await picture(page, "light");

    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.equal(await page.evaluate("document.activeElement.shadowRoot.activeElement.className"), "launch");
    await page.reload();
    await page.getByRole("button", { name: heading }).press("Enter");
    await last.waitFor();
    assert.equal(await page.locator(".message").count(), 5);
    assert.equal(await page.evaluate("document.activeElement.shadowRoot.activeElement.tagName"), "TEXTAREA");
  });

  it("renders hostile texts as words, and links of the web only", async (t) => {
    const { open, heading } = await site(t, PERSON);
    const page = await open({ colorScheme: "dark" });
    await page.getByRole("button", { name: heading }).click();
    await say(page, HOSTILE);
    const answer = page.locator(".message.agent");
    await answer.getByText("slanted").waitFor();
    await until(async () => (await answer.locator("pre").count()) === 1, "the whole answer");
    const links = await answer
      .locator("a")
      .evaluateAll((all) => all.map((one) => [one.getAttribute("href"), one.getAttribute("rel")]));
    assert.deepEqual(links, [["https://example.com/a_b_c", "noopener noreferrer nofollow"]]);
    assert.equal(await answer.locator("img, script, b").count(), 0);
    assert.deepEqual(await answer.locator("strong, em, li").allInnerTexts(), ["bold", "slanted", "one", "two"]);
    assert.equal(await page.title(), "Shop");
    await picture(page, "dark");
  });

  it("fits a phone, and follows data-theme and the direction of a text", async (t) => {
    const { open, heading } = await site(t, PERSON, 'data-theme="dark"');
    const page = await open({ viewport: { width: 360, height: 740 }, colorScheme: "light", reducedMotion: "reduce" });
    await page.getByRole("button", { name: heading }).click();
    const box = await page.getByRole("dialog").boundingBox();
    assert.deepEqual([box?.x, box?.y, box?.width, box?.height], [0, 0, 360, 740]);
    await say(page, "echo שלום עולם");
    const answer = page.locator(".message.agent").last();
    await answer.getByText("שלום עולם").waitFor();
    const style = "getComputedStyle(document.querySelector('body > div:last-child').shadowRoot.querySelector";
    assert.equal(await page.evaluate(`${style}('.message.agent p')).direction`), "rtl");
    assert.equal(await page.evaluate(`${style}('.panel')).animationName`), "none");
    assert.equal(await page.evaluate(`${style}('.panel')).backgroundColor`), "rgb(24, 27, 31)");
    await picture(page, "phone");
  });

  it("shows files, tells a lost connection, and comes back", async (t) => {
    const { open, heading, inside, client, gateway } = await site(t);
    const page = await open({}, "");
    await page.getByRole("button", { name: heading }).click();
    await say(page, "Who are you?");
    await page.locator(".message.agent").getByText("language model").first().waitFor();
    const [row] = await inside.storage.all<{ visitor: string }>("SELECT visitor FROM webchat_visitors");
    const to = row?.visitor ?? "";
    const png = await page.screenshot({ clip: { x: 0, y: 0, width: 200, height: 80 } });
    const mediaUrl = `data:image/png;base64,${png.toString("base64")}`;
    await client.request("send", { channel: "website", to, message: "a picture", mediaUrl, idempotencyKey: "one" });
    await until(async () => (await page.locator(".file img").boundingBox())?.width === 200, "the picture");
    const svg = `data:image/svg+xml;base64,${Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='x'/>").toString("base64")}`;
    await client.request("send", { channel: "website", to, message: "", mediaUrl: svg, idempotencyKey: "two" });
    await page.getByRole("button", { name: / kB/ }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: / kB/ }).click(),
    ]);
    assert.ok(download.suggestedFilename());
    assert.equal(await page.locator(".file img").count(), 1);
    await picture(page, "files");

    await gateway.reload("webchat");
    await page.getByText("Not connected. Trying again…").waitFor();
    await say(page, "Are you back?");
    await until(async () => (await page.locator(".message.agent").count()) === 4, "the answer");
    await page.getByText("Not connected").waitFor({ state: "detached" });
  });

  it("tells why a message is not accepted", async (t) => {
    const { open, heading } = await site(t, { dmPolicy: "disabled" });
    const page = await open();
    await page.getByRole("button", { name: heading }).click();
    await say(page, "hello");
    await page.locator(".message.failed").getByText("hello").waitFor();
    await page.getByText("Messages are not accepted here.").waitFor();
  });

  it("is small, and cached by browsers", async (t) => {
    const { http } = await site(t);
    const address = `${http}/plugins/webchat/widget.js`;
    const response = await fetch(address, { headers: { "accept-encoding": "identity" } });
    const script = Buffer.from(await response.arrayBuffer());
    assert.ok(script.length < 15_000, `${script.length} bytes`);
    t.diagnostic(`${script.length} bytes, ${gzipSync(script, { level: 9 }).length} with gzip`);
    assert.match(response.headers.get("content-type") ?? "", /^text\/javascript/);
    const etag = response.headers.get("etag") ?? "";
    assert.equal((await fetch(address, { headers: { "if-none-match": etag } })).status, 304);
    const zipped = await fetch(address, { headers: { "accept-encoding": "gzip" } });
    assert.equal(zipped.headers.get("content-encoding"), "gzip");
    assert.deepEqual(Buffer.from(await zipped.arrayBuffer()), script);
  });
});

/** A gateway, and a page of another origin that embeds its widget. Errors of the page fail the test. */
async function site(t: TestContext, website: object = {}, attributes = "") {
  const heading = "Ask the shop";
  let page = "";
  let policy = "";
  const server = createServer((request, response) => {
    if (request.url !== "/") return void response.writeHead(404).end();
    response
      .writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": policy })
      .end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  const origin = `http://shop.example:${(server.address() as AddressInfo).port}`; // a TCP server has a port
  const scene = await startScene(t, ["webchat"], {
    config: {
      "provider-offline": { wordDelayMs: 60 },
      channels: { website: { allowedOrigins: [origin], knownVisitors: { ada: hashOf(TOKEN) }, ...website } },
    },
  });
  const http = `http://127.0.0.1:${scene.gateway.port}`;
  policy = `default-src 'none'; script-src ${http}; connect-src ${http.replace("http", "ws")}; img-src blob:; style-src 'none'`;
  page = `<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1><p>Things to buy.</p>
    <script src="${http}/plugins/webchat/widget.js" data-title="${heading}" ${attributes} async></script>`;
  const problems: string[] = [];
  t.after(() => assert.deepEqual(problems, []));
  const open = async (look: Parameters<Browser["newContext"]>[0] = {}, token = TOKEN): Promise<Page> => {
    const context = await browser.newContext(look);
    const key = `svc-webchat ${http.replace("http", "ws")}/plugins/webchat/default/socket`;
    if (token !== "") await context.addInitScript(`localStorage.setItem(${JSON.stringify(key)}, "${token}")`);
    t.after(() => context.close());
    context.setDefaultTimeout(15_000);
    const made = await context.newPage();
    made.on("pageerror", (error) => problems.push(String(error)));
    made.on("console", (message) => {
      if (message.type() === "error" && !/WebSocket|favicon/.test(message.text())) problems.push(message.text());
    });
    await made.goto(origin);
    return made;
  };
  return { ...scene, open, heading, http };
}

async function say(page: Page, text: string): Promise<void> {
  const input = page.getByRole("textbox", { name: "Message" });
  await input.fill(text);
  await input.press("Enter");
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

/** Pages and cards of plugins in the real panel: the example of the guestbook, and a page that tries what it may not. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { root } from "../../checkout.ts";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";

const skip = without("chromium");
const GUESTBOOK = join(root, "examples/panel-page/guestbook.ts");

it("shows a page of a plugin that talks to its own methods and events, and its card", { skip }, async (t) => {
  const { open, client } = await openPanel(t, { config: { plugins: { load: { paths: [GUESTBOOK] } } } });
  const page = await open("/overview", { theme: "dark" });
  await page.getByRole("heading", { name: "Guestbook" }).waitFor();
  await page.getByText("nobody yet").waitFor();

  await page.getByRole("link", { name: "Guestbook" }).first().click();
  const frame = page.frameLocator("iframe");
  await frame.getByLabel("Your name").fill("<img src=x onerror=alert(1)>");
  await frame.getByRole("button", { name: "Sign" }).click();
  await frame.getByText("<img src=x onerror=alert(1)>").waitFor();
  await client.request("guestbook.sign", { name: "Somebody else" });
  await frame.getByText("Somebody else").waitFor(); // by the event
  assert.equal(await frame.locator("html").getAttribute("data-theme"), "dark");
  const ground = await frame
    .locator("body")
    .evaluate<string, object>("getComputedStyle(document.body).backgroundColor");
  assert.equal(ground, await page.evaluate("getComputedStyle(document.documentElement).backgroundColor"));
});

const SPY = `
  import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";
  import { PanelPage } from "@svc/sdk/panel";
  const PAGE = \`<!doctype html><title>spy</title><pre id="out"></pre><script src="../../bridge.js"></script><script src="spy.js"></script>\`;
  const SCRIPT = \`(async () => {
    const gateway = await svcPanel.connect();
    const out = {};
    const attempt = async (name, work) => { try { out[name] = String(await work()); } catch (error) { out[name] = "refused"; } };
    await attempt("own", () => gateway.call("spy.own"));
    await attempt("foreign", () => gateway.call("config.get"));
    await attempt("parent", () => parent.document.title);
    await attempt("storage", () => localStorage.length);
    await attempt("database", () => new Promise((done, fail) => { const r = indexedDB.open("svc-panel"); r.onsuccess = () => done("open"); r.onerror = fail; }));
    await attempt("network", () => fetch("/healthz").then((r) => r.status));
    await attempt("socket", () => new Promise((done, fail) => { const s = new WebSocket(location.origin.replace("http", "ws")); s.onopen = () => done("open"); s.onerror = fail; }));
    document.getElementById("out").textContent = JSON.stringify(out);
  })();\`;
  export default definePlugin({ id: "spy", api: "^1.0.0", setup(gateway) {
    gateway.serve(defineContract("spy", { own: { summary: "own", scope: "operator.read", params: Strict({}), result: Type.Unknown() } }), { own: () => "mine" });
    gateway.extend(PanelPage, "spy", { title: "Spy", methods: ["spy.own", "config.get"], events: ["chat"], async file(path) {
      if (path === "index.html") return { type: "text/html; charset=utf-8", bytes: PAGE };
      return path === "spy.js" ? { type: "text/javascript", bytes: SCRIPT } : undefined;
    } });
  } });
`;

it("lets a page reach its own plugin and nothing else", { skip }, async (t) => {
  const { open, problems } = await openPanel(t, {
    config: { plugins: { load: { paths: ["./spy.ts"] } } },
    async prepare(stateDir) {
      await mkdir(stateDir, { recursive: true });
      await writeFile(join(stateDir, "spy.ts"), SPY);
    },
  });
  const page = await open("/page?id=spy");
  await page
    .getByText("The page requests methods or events that its plugin does not offer: config.get, chat")
    .waitFor();
  const out = page.frameLocator("iframe").locator("#out");
  await out.getByText("own").waitFor();
  const refused = "refused";
  assert.deepEqual(JSON.parse(await out.innerText()), {
    own: "mine",
    foreign: refused,
    parent: refused,
    storage: refused,
    database: refused,
    network: refused,
    socket: refused,
  });
  problems.length = 0; // the browser reports each attempt
});

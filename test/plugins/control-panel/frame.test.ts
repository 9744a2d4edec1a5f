/** A page of a plugin in a browser: it loads its own files in a sandboxed frame, and reaches nothing else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PanelPage } from "@svc/sdk/panel";
import { chromium } from "playwright-core";
import { findChromium } from "../../../plugins/browser/chromium/find.ts";
import { directory, put } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { panelScene } from "./scene.ts";

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const FILES: Readonly<Record<string, { type: string; bytes: string | Uint8Array }>> = {
  "index.html": {
    type: "text/html; charset=utf-8",
    bytes: `<!doctype html><link rel="stylesheet" href="style.css"><body>x
<script>globalThis.inline = true</script>
<script src="../../bridge.js"></script>
<script type="module" src="page.js"></script>`,
  },
  "style.css": { type: "text/css", bytes: "body { color: rgb(1, 2, 3) }" },
  "dot.png": { type: "image/png", bytes: Buffer.from(DOT, "base64") },
  "more.js": { type: "text/javascript", bytes: "export const more = 7;" },
  "page.js": {
    type: "text/javascript",
    bytes: `import { more } from "./more.js";
const results = { more };
const tell = (name, work) => work().then((value) => (results[name] = value), (error) => (results[name] = error.name));
await tell("origin", async () => self.origin);
await tell("inline", async () => String(globalThis.inline));
await tell("bridge", async () => globalThis.bridge);
await tell("style", async () => getComputedStyle(document.body).color);
await tell("storage", async () => typeof localStorage);
await tell("cookie", async () => document.cookie);
await tell("panel", async () => parent.document.title);
await tell("picture", () => new Promise((resolve, reject) => {
  const image = new Image();
  image.onload = () => resolve(image.width);
  image.onerror = () => reject(new Error("no picture"));
  image.src = "dot.png";
}));
await tell("own", async () => (await fetch("style.css")).status);
await tell("gateway", async () => (await fetch("/__svc/control-ui-config.json")).status);
await tell("socket", () => new Promise((resolve) => {
  const socket = new WebSocket("ws://" + location.host + "/");
  socket.onopen = () => resolve("open");
  socket.onerror = socket.onclose = () => resolve("closed");
}));
parent.postMessage(results, "*");`,
  },
};

describe("a page of a plugin in a browser", { timeout: 180_000, skip: without("chromium") }, () => {
  for (const base of ["", "/panel"]) {
    it(`has only its own files, below "${base}"`, async (t) => {
      const root = directory(t);
      put(`${root}/index.html`, '<!doctype html><script src="./assets/main.js"></script>');
      put(`${root}/__svc/bridge.js`, "globalThis.bridge = 1;");
      put(
        `${root}/assets/main.js`,
        `addEventListener("message", ({ data, origin }) => (document.title = JSON.stringify({ ...data, sender: origin })));
addEventListener("load", () => {
  const frame = document.createElement("iframe");
  frame.src = "${base}/__svc/pages/probe/";
  document.body.append(frame);
});`,
      );
      const probe = pluginOf("probe", ({ extend }) => {
        extend(PanelPage, "probe", { title: "Probe", file: async (path) => FILES[path] });
      });
      const { address } = await panelScene(t, { root, plugins: [probe], controlUi: { basePath: base } });
      const browser = await chromium.launch({ executablePath: await findChromium(undefined), chromiumSandbox: false });
      t.after(() => browser.close());
      const page = await browser.newPage();
      await page.goto(`${address}${base}/deep/client/route`);
      await until(async () => (await page.title()).startsWith("{"), "the results");
      assert.deepEqual(JSON.parse(await page.title()), {
        more: 7,
        origin: "null",
        inline: "undefined",
        bridge: 1,
        style: "rgb(1, 2, 3)",
        storage: "SecurityError",
        cookie: "SecurityError",
        panel: "SecurityError",
        picture: 1,
        own: "TypeError",
        gateway: "TypeError",
        socket: "closed",
        sender: "null",
      });
      const foreign = await browser.newPage();
      await foreign.setContent(
        `<iframe src="${address}${base}/__svc/pages/probe/"></iframe><iframe src="${address}${base}/"></iframe>`,
      );
      await foreign.waitForLoadState("load");
      const shown = foreign
        .frames()
        .slice(1)
        .map((frame) => frame.url());
      assert.deepEqual(shown, ["chrome-error://chromewebdata/", "chrome-error://chromewebdata/"]);
    });
  }
});

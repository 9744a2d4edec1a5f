/** Pages in a browser: what a page of an agent can do, and what it cannot. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { Capabilities, TTL_MS } from "../../../plugins/canvas/capabilities.ts";
import { a2uiPage, withLiveReload } from "../../../plugins/canvas/pages.ts";
import { placeOf } from "../../../plugins/canvas/place.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { canvasScene } from "./scene.ts";

describe("capabilities", () => {
  it("are valid for 600000 ms, until the owner gets another one or goes", async () => {
    const clock = createFakeClock();
    const capabilities = new Capabilities(clock);
    const one = capabilities.issue("a");
    assert.match(one.token, /^[\w-]{24}$/);
    assert.deepEqual([one.expiresAt - clock.now(), TTL_MS], [600_000, 600_000]);
    assert.equal(capabilities.of("a", 60_000), one);
    await clock.advance(599_999);
    assert.equal(capabilities.find(one.token), one);
    assert.equal(capabilities.of("a", 60_000), undefined);
    await clock.advance(1);
    assert.equal(capabilities.find(one.token), undefined);
    assert.equal(one.ended.aborted, false, "an open stream goes on");
    const two = capabilities.issue("a");
    assert.deepEqual([one.ended.aborted, two.ended.aborted], [true, false]);
    capabilities.withdraw("a");
    capabilities.withdraw("nobody");
    assert.deepEqual([two.ended.aborted, capabilities.find(two.token)], [true, undefined]);
  });

  it("above 1000, the oldest ends", () => {
    const capabilities = new Capabilities(createFakeClock());
    const first = capabilities.issue("first");
    for (let n = 0; n < 999; n++) capabilities.issue(`n${n}`);
    assert.equal(first.ended.aborted, false);
    capabilities.issue("last");
    assert.equal(first.ended.aborted, true);
  });
});

describe("places", () => {
  it("are found below /__svc__/, alone or behind a capability", () => {
    const at = (path: string, query = "", aliases: string[] = []) => placeOf(path, new URLSearchParams(query), aliases);
    const plain = { kind: "pages", name: "/a.html", inPath: undefined, token: undefined };
    assert.deepEqual(at("/__svc__/canvas/a.html"), plain);
    assert.deepEqual(at("/__svc__/canvas/a.html", "oc_cap=T"), { ...plain, token: "T" });
    assert.deepEqual(at("/__svc__/cap/T/__svc__/canvas/a.html", "oc_cap=U"), { ...plain, inPath: "T", token: "T" });
    assert.deepEqual(at("/__svc__/ws")?.kind, "reload");
    assert.deepEqual(at("/__svc__/cap/T")?.kind, "base");
    assert.equal(at("/__acme__/canvas/"), undefined);
    assert.deepEqual(at("/__acme__/canvas/", "", ["acme"])?.name, "/");
    for (const path of ["/__svc__", "/__svc__/", "/__svc__/canvasx/", "/__svc__/cap/", "/__svc__/cap//", "/canvas/"]) {
      assert.equal(at(path), undefined, path);
    }
  });
});

describe("what is added to a page", () => {
  it("stands before the end of its body, or at its end", () => {
    assert.match(withLiveReload("<p>x", "/s"), /^<p>x\n<script>.*"\/s".*<\/script>\n$/);
    assert.match(withLiveReload("</body><p></BODY></html>", "/s"), /^<\/body><p><script>.*<\/script><\/BODY><\/html>$/);
  });
  it("names of the A2UI functions cannot end its script", () => {
    assert.ok(!a2uiPage(["</script><script>"]).includes('"</script'));
  });
});

/** The browser escapes titles in its list of pages. */
const unescaped = (title: string) =>
  title
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** Opens a page. @returns a function that waits until its title matches */
async function browse(t: TestContext, url: string) {
  const profile = await mkdtemp(join(tmpdir(), "svc-chromium-"));
  const switches = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"];
  const browser = spawn("chromium", [...switches, `--user-data-dir=${profile}`, url], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  t.after(async () => {
    browser.kill("SIGKILL");
    if (browser.exitCode === null && browser.signalCode === null) await once(browser, "exit");
    await rm(profile, { recursive: true, force: true, maxRetries: 10 }); // its other processes end a little later
  });
  let said = "";
  browser.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const port = () => /ws:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
  await until(() => port() !== undefined, "the browser");
  return async (matches: RegExp, meanwhile = () => {}): Promise<string> => {
    let found: string | undefined;
    await until(async () => {
      meanwhile();
      const pages = (await (await fetch(`http://127.0.0.1:${port()}/json`)).json()) as {
        title: string;
        type: string;
      }[];
      found = pages.find(({ title, type }) => type === "page" && matches.test(title))?.title;
      return found !== undefined;
    }, `a page with the title ${matches}`);
    return unescaped(found ?? "");
  };
}

const SCRIPT = `
const results = {};
const tell = (name, work) => work().then((value) => (results[name] = value), (error) => (results[name] = error.name));
await tell("origin", async () => String(self.origin));
await tell("storage", async () => typeof localStorage);
await tell("data", async () => (await (await fetch("data.json")).json()).join());
await tell("style", async () => getComputedStyle(document.body).color);
await tell("picture", () => new Promise((resolve) => {
  const image = new Image();
  image.onload = () => resolve(image.width);
  image.onerror = () => resolve("none");
  image.src = "dot.png";
}));
await tell("elsewhere", async () => (await fetch("http://127.0.0.1:9/x")).status);
await tell("gateway", async () => (await fetch("/tools/invoke", { method: "POST", body: "{}" })).status);
await tell("socket", () => new Promise((resolve) => {
  const socket = new WebSocket("ws://" + location.host + "/");
  socket.onmessage = () => socket.send(JSON.stringify({ type: "req", id: "1", method: "connect", params: { minProtocol: 3, maxProtocol: 3, client: { id: "cli", version: "1", platform: "x", mode: "cli" } } }));
  socket.onclose = ({ reason, code }) => resolve(code === 1006 ? "blocked" : reason.slice(0, 18));
}));
document.title = JSON.stringify(results);
`;
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("a page in a browser", { timeout: 180_000, skip: without("chromium") }, () => {
  it("loads its own files, and neither reaches the gateway as its reader nor other servers, not even in mode none", async (t) => {
    const scene = await canvasScene(t, {}, { config: { gateway: { auth: { mode: "none" } } } });
    scene.page(
      "index.html",
      '<!doctype html><title>early</title><link rel="stylesheet" href="a.css"><body>x<script type="module" src="a.mjs"></script></body>',
    );
    scene.page("a.css", "body { color: rgb(1, 2, 3) }");
    scene.page("a.mjs", SCRIPT);
    scene.page("data.json", "[1,2]");
    writeFileSync(`${scene.stateDir}/canvas/dot.png`, Buffer.from(DOT, "base64"));
    const title = await browse(t, `${scene.base}/__svc__/canvas/`);
    const seen = JSON.parse(await title(/^\{/)) as Record<string, unknown>;
    assert.deepEqual(seen, {
      origin: "null",
      storage: "SecurityError",
      data: "1,2",
      style: "rgb(1, 2, 3)",
      picture: 1,
      elsewhere: "TypeError",
      gateway: "TypeError",
      socket: "origin not allowed",
    });
  });

  it("the A2UI page shows messages as text, under the names of its commands", async (t) => {
    const scene = await canvasScene(t);
    scene.page("frame.html", "");
    const page = a2uiPage(["acme"]).replace(
      "</script>\n</html>",
      `
const ran = [];
ran.push(JSON.stringify(svcA2UI.push([{ a: "<b>1</b>" }, 2])), JSON.stringify(acmeA2UI.pushJSONL('{"b":1}\\n\\n{"c":2}\\n')));
ran.push(document.querySelectorAll("pre").length, document.querySelector("pre").textContent.includes("<b>1</b>"), document.querySelectorAll("pre b").length);
try { svcA2UI.push("x") } catch (error) { ran.push(error.name) }
svcA2UI.reset();
ran.push(document.querySelectorAll("pre").length);
document.title = JSON.stringify(ran);
</script>
</html>`,
    );
    scene.page("a2ui.html", page);
    const title = await browse(t, `${scene.base}/__svc__/canvas/a2ui.html`);
    const ran = JSON.parse(await title(/^\[/)) as unknown;
    assert.deepEqual(ran, ['{"ok":true,"count":2}', '{"ok":true,"count":2}', 4, true, 0, "TypeError", 0]);
  });

  it("reloads when a file changes", async (t) => {
    const scene = await canvasScene(t);
    const body = (text: string) => `<!doctype html><title>${text}</title><body>${text}</body>`;
    scene.page("index.html", body("one"));
    const title = await browse(t, `${scene.base}/__svc__/canvas/`);
    await title(/^one$/);
    // Again and again, since the page may not listen yet; with pauses, since a reload waits for the last change.
    let writtenAt = 0;
    await title(/^two$/, () => {
      if (performance.now() - writtenAt < 2_000) return;
      writtenAt = performance.now();
      scene.page("index.html", body("two"));
    });
  });
});

/** The facts of http/control-panel.md §3 to §5, one row each. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import { directory, put } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { fileGateway } from "../../conformance/file-gateway.ts";
import { type Answer, compress, CSP, get, INDEX, indexAt, pageDirectory, panelScene, SCRIPT } from "./scene.ts";

const limited = { timeout: 120_000 };

/** Headers of every response of the panel. */
function assertPanel({ headers }: Answer, what: string): void {
  assert.equal(headers["content-security-policy"], CSP, what);
  assert.equal(headers["x-frame-options"], "DENY", what);
  assert.equal(headers["x-content-type-options"], "nosniff", what);
  assert.equal(headers["referrer-policy"], "no-referrer", what);
  assert.equal(headers["cache-control"], "no-cache", what);
  assert.equal(headers["access-control-allow-origin"], undefined, what);
}

function assertNotPanel({ status, headers, text }: Answer, what: string): void {
  assert.equal(status, 404, what);
  assert.equal(headers["x-frame-options"], undefined, what);
  assert.equal((JSON.parse(text) as { error: { type: string } }).error.type, "not_found", what);
}

const HTML = "text/html; charset=utf-8";
const JS = "application/javascript; charset=utf-8";

describe("the control panel", limited, () => {
  it("allows the scripts that a configured page contains, by their hashes", async (t) => {
    const scene = await panelScene(t);
    const text = "\n  globalThis.ready = 1;\n";
    const html = `<!doctype html><script src="./assets/main.js"></script><script data-x="a>b">${text}</script>`;
    writeFileSync(join(scene.root, "index.html"), html);
    const { headers } = await scene.get("/");
    const hash = createHash("sha256").update(text).digest("base64");
    const wider = CSP.replace("script-src 'self'", `script-src 'self' 'sha256-${hash}' 'wasm-unsafe-eval'`)
      .replace("img-src 'self' data: https:", "img-src 'self' data: blob: https:")
      .replace("connect-src 'self' ws: wss:", "connect-src 'self' data: blob: ws: wss:");
    assert.equal(headers["content-security-policy"], `${wider}; media-src 'self' data: blob:; worker-src 'self' blob:`);
    assert.equal((await scene.get("/assets/main.js")).headers["content-security-policy"], CSP);
  });

  it("serves its files without a base path, and the page for all other paths", async (t) => {
    const scene = await panelScene(t);
    const index = indexAt("");
    const rows: [path: string, status: number, type: string | undefined, body: string][] = [
      ["/", 200, HTML, index],
      ["/?token=x", 200, HTML, index],
      ["/index.html", 200, HTML, index],
      ["/sessions/agent:main:main", 200, HTML, index],
      ["/sessions/", 200, HTML, index],
      ["/missing.html", 200, HTML, index],
      ["/v1/unknown", 200, HTML, index],
      ["/hooks/x", 200, HTML, index],
      ["/assets", 200, HTML, index],
      ["/assets/main.js", 200, JS, SCRIPT],
      ["/deep/er/assets/main.js", 200, JS, SCRIPT],
      ["/assets/plain.css", 200, "text/css; charset=utf-8", "body{}"],
      ["/icon.svg", 200, "image/svg+xml", "<svg/>"],
      ["/manifest.webmanifest", 200, "application/manifest+json; charset=utf-8", "{}"],
      ["/sub/page.html", 200, HTML, "<p>sub"],
      ...["js", "css", "json", "map", "svg", "png", "jpg", "jpeg", "gif", "webp", "ico", "txt"].map(
        (extension): [string, number, string, string] => [
          `/missing.${extension}`,
          404,
          "text/plain; charset=utf-8",
          "Not Found",
        ],
      ),
      ["/ui", 404, "text/plain; charset=utf-8", "Not Found"],
      ["/ui/index.html", 404, "text/plain; charset=utf-8", "Not Found"],
      ["/avatar/a/b", 404, "text/plain; charset=utf-8", "Not Found"],
      ["/.env", 404, "text/plain; charset=utf-8", "Not Found"],
    ];
    for (const [path, status, type, body] of rows) {
      const answer = await scene.get(path);
      assert.deepEqual([answer.status, answer.headers["content-type"], answer.text], [status, type, body], path);
      assertPanel(answer, path);
      const head = await scene.get(path, { method: "HEAD" });
      assert.deepEqual([head.status, head.text], [status, ""], path);
      assert.deepEqual(
        [head.headers["content-type"], head.headers["content-length"], head.headers.etag],
        [answer.headers["content-type"], answer.headers["content-length"], answer.headers.etag],
        path,
      );
      assertPanel(head, path);
    }
    for (const path of ["/api", "/api/x", "/plugins", "/plugins/x", "/api/a.js"]) {
      assertNotPanel(await scene.get(path), path);
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
      for (const path of ["/", "/x", "/assets/main.js", "/ui"]) {
        assertNotPanel(await scene.get(path, { method }), `${method} ${path}`);
      }
    }
    const health = await scene.get("/healthz");
    assert.deepEqual([health.status, health.text], [200, '{"ok":true,"status":"live"}']);
  });

  it("is complete below a base path, and nothing is served outside", async (t) => {
    const scene = await panelScene(t, { controlUi: { basePath: " a/b & c/ " } });
    const moved = await scene.get("/a/b%20&%20c?x=1&y=2");
    assert.deepEqual([moved.status, moved.headers.location, moved.text], [302, "/a/b%20&%20c/?x=1&y=2", ""]);
    assertPanel(moved, "redirect");
    const index = indexAt("/a/b%20%26%20c");
    for (const path of ["/", "/index.html", "/sessions/x/y", "/api", "/plugins/x", "/ui"]) {
      const answer = await scene.get(`/a/b%20&%20c${path}`);
      assert.deepEqual([answer.status, answer.text], [200, index], path);
      assertPanel(answer, path);
    }
    const script = await scene.get("/a/b%20%26%20c/deep/assets/main.js");
    assert.deepEqual([script.status, script.text], [200, SCRIPT]);
    const config = await scene.get("/a/b%20&%20c/__svc/control-ui-config.json");
    assert.equal((JSON.parse(config.text) as { basePath: string }).basePath, "/a/b & c");
    const outside = [
      "/",
      "/index.html",
      "/assets/main.js",
      "/avatar/main",
      "/__svc/control-ui-config.json",
      "/control-ui-config.json",
      "/a",
      "/a/b%20&%20cd",
    ];
    for (const path of outside) assertNotPanel(await scene.get(path), path);
  });

  it("tells programs about wrong paths", async (t) => {
    const scene = await panelScene(t);
    const asked = { headers: { accept: "application/json" } };
    assertNotPanel(await scene.get("/v1/unknown", asked), "a wrong path");
    assertNotPanel(
      await scene
        .get("/v1/unknown", { ...asked, method: "HEAD" })
        .then((head) => ({ ...head, text: '{"error":{"type":"not_found"}}' })),
      "HEAD",
    );
    assert.equal((await scene.get("/", asked)).text, indexAt(""), "the page itself");
    assert.equal((await scene.get("/assets/main.js", asked)).text, SCRIPT);
    assert.equal((await scene.get("/x", { headers: { accept: "text/html" } })).text, indexAt(""));
  });

  it("comes after all other routes and the probes [H10.5]", async (t) => {
    const other = pluginOf("other", ({ route }) => {
      const handler = () => ({ body: "other" });
      route({ method: "POST", path: "/plugins/other/x", auth: "plugin", summary: "x", handler });
      route({ method: "GET", path: "/plugins/other/*rest", auth: "plugin", summary: "x", handler });
    });
    const scene = await panelScene(t, { plugins: [other] });
    assert.equal((await scene.get("/plugins/other/a/assets/main.js")).text, "other");
    assert.equal((await scene.get("/plugins/other/x", { method: "POST" })).text, "other");
    for (const path of ["/health", "/healthz"]) {
      const probe = await scene.get(path);
      assert.deepEqual([probe.status, probe.text], [200, '{"ok":true,"status":"live"}'], path);
    }
    const posted = pluginOf("posted", ({ route }) => {
      route({ method: "POST", path: "/plugins/posted/x", auth: "plugin", summary: "x", handler: () => ({}) });
    });
    const below = await panelScene(t, { plugins: [posted], controlUi: { basePath: "/plugins" } });
    assert.equal((await below.get("/plugins/posted/x")).status, 405, "the path is that of another route");
    assert.equal((await below.get("/plugins/elsewhere")).text, indexAt("/plugins"));
  });

  it("an unchanged file is not sent again", async (t) => {
    const scene = await panelScene(t);
    for (const path of ["/assets/main.js", "/", "/some/page"]) {
      const { etag = "" } = (await scene.get(path)).headers;
      assert.match(etag, /^"[\w-]{27}"$/, path);
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await scene.get(path, { headers: { "if-none-match": tag } });
        assert.deepEqual([again.status, again.text, again.headers.etag], [304, "", etag], tag);
        assertPanel(again, tag);
      }
      assert.equal((await scene.get(path, { headers: { "if-none-match": '"other"' } })).status, 200);
    }
    const { etag = "" } = (await scene.get("/assets/main.js")).headers;
    writeFileSync(join(scene.root, "assets/main.js"), "changed");
    const changed = await scene.get("/assets/main.js", { headers: { "if-none-match": etag } });
    assert.deepEqual([changed.status, changed.text], [200, "changed"]);
    writeFileSync(join(scene.root, "index.html"), '<a href="./new">');
    assert.equal((await scene.get("/")).text, '<a href="/new">');
  });

  it("sends the compressed file to clients that accept it", async (t) => {
    const scene = await panelScene(t);
    const path = join(scene.root, "assets/main.js");
    const bytes = compress(path, SCRIPT);
    const plain = await scene.get("/assets/main.js");
    assert.deepEqual([plain.text, plain.headers["content-encoding"]], [SCRIPT, undefined]);
    assert.equal(plain.headers.vary, "Accept-Encoding");
    for (const accepted of ["br", "gzip, br", "gzip, br;q=0.5", "BR"]) {
      const answer = await scene.get("/x/assets/main.js", { headers: { "accept-encoding": accepted } });
      assert.equal(answer.headers["content-encoding"], "br", accepted);
      assert.deepEqual(answer.bytes, bytes);
      assert.equal(brotliDecompressSync(answer.bytes).toString(), SCRIPT);
      assert.deepEqual([answer.headers["content-type"], answer.headers.vary], [JS, "Accept-Encoding"]);
      assert.notEqual(answer.headers.etag, plain.headers.etag);
      const again = await scene.get("/assets/main.js", {
        headers: { "accept-encoding": accepted, "if-none-match": answer.headers.etag ?? "" },
      });
      assert.deepEqual([again.status, again.headers["content-encoding"]], [304, undefined]);
    }
    for (const accepted of ["gzip", "br;q=0", "br; q=0.0", "brotli"]) {
      const answer = await scene.get("/assets/main.js", { headers: { "accept-encoding": accepted } });
      assert.deepEqual([answer.text, answer.headers["content-encoding"]], [SCRIPT, undefined], accepted);
    }
    const css = await scene.get("/assets/plain.css", { headers: { "accept-encoding": "br" } });
    assert.deepEqual([css.text, css.headers["content-encoding"]], ["body{}", undefined], "no compressed file");
    utimesSync(`${path}.br`, new Date(1_000), new Date(1_000));
    const edited = await scene.get("/assets/main.js", { headers: { "accept-encoding": "br" } });
    assert.equal(edited.headers["content-encoding"], undefined, "older than the file");
  });

  it("says what is missing, and which key to correct", async (t) => {
    const root = directory(t);
    const scene = await panelScene(t, { root: join(root, "none") });
    const asserts = async (what: string) => {
      for (const path of ["/", "/x", "/assets/main.js"]) {
        const answer = await scene.get(path);
        assert.deepEqual([answer.status, answer.headers["content-type"]], [503, "text/plain; charset=utf-8"], what);
        assert.match(answer.text, /^gateway\.controlUi\.root is not a directory with an index\.html/, what);
        assert.ok(!answer.text.includes(root), what);
        assertPanel(answer, what);
      }
    };
    await asserts("no directory");
    mkdirSync(join(root, "none"));
    await asserts("an empty directory");
    mkdirSync(join(root, "none/index.html"));
    await asserts("a directory as index.html");
    rmSync(join(root, "none"), { recursive: true });
    put(join(root, "none"), "a file");
    await asserts("a file");
    assert.equal((await scene.get("/__svc/control-ui-config.json")).status, 200);
    assert.equal((await scene.get("/avatar/main?meta=1")).status, 200);
  });

  it("serves the files that come with it, or says that they are missing", async (t) => {
    const scene = await panelScene(t, { controlUi: { root: undefined } });
    const answer = await scene.get("/");
    assertPanel(answer, "/");
    if (existsSync("plugins/control-panel/dist/ui/index.html")) {
      assert.deepEqual([answer.status, answer.headers["content-type"]], [200, HTML]);
      assert.ok(!/(?:src|href)="\.\//.test(answer.text));
      const [, script = ""] = /src="(\/assets\/[^"]+\.js)"/.exec(answer.text) ?? [];
      assert.equal((await scene.get(script)).headers["content-type"], JS);
      const small = await scene.get(script, { headers: { "accept-encoding": "br" } });
      assert.equal(small.headers["content-encoding"], "br");
    } else {
      assert.deepEqual([answer.status, answer.headers["content-type"]], [503, "text/plain; charset=utf-8"]);
      assert.match(answer.text, /^The control panel has no files in this installation\./);
    }
  });

  it("`enabled: false` ends it; the front page of the gateway is there again", async (t) => {
    const scene = await panelScene(t, { controlUi: { enabled: false } });
    for (const path of ["/", "/index.html", "/assets/main.js", "/avatar/main", "/avatar/main?meta=1", "/ui"]) {
      assertNotPanel(await scene.get(path), path);
    }
    assert.match((await scene.get("/", { headers: { accept: "text/html" } })).text, /svc gateway is running/);
  });

  it("sends the header for HTTPS that is configured", async (t) => {
    const http = { securityHeaders: { strictTransportSecurity: " max-age=1 " } };
    const scene = await panelScene(t, { config: { gateway: { http } } });
    assert.equal((await scene.get("/")).headers["strict-transport-security"], "max-age=1");
  });

  it("needs no credential, and a wrong one changes nothing", async (t) => {
    const scene = await panelScene(t, { config: { gateway: { auth: { mode: "token", token: "the-right-one" } } } });
    for (const headers of [{}, { authorization: "Bearer wrong" }]) {
      assert.equal((await scene.get("/", { headers })).status, 200);
      assert.equal((await scene.get("/__svc/control-ui-config.json", { headers })).status, 200);
    }
  });
});

it("gateway.controlUi and ui have an effect at once; the plugin sleeps until the first request", limited, async (t) => {
  const [first, second] = [pageDirectory(t), directory(t)];
  put(join(second, "index.html"), "second");
  const config = (controlUi: object, ui: object = {}) => JSON.stringify({ gateway: { controlUi }, ui });
  const { gateway, stateDir } = await fileGateway(t, config({ root: first }), { plugins: ["control-panel", "config"] });
  const address = gateway.url.replace(/^ws/, "http");
  const report = () => gateway.plugins().find(({ id }) => id === "control-panel");
  assert.equal(report()?.asleep, true);
  assert.equal((await get(address, "/x")).text, indexAt(""));
  assert.ok(!report()?.asleep);
  const generation = report()?.generation;
  const write = (text: string) => writeFileSync(join(stateDir, "svc.json"), text);
  const becomes = (path: string, text: string) =>
    until(
      async () => (await get(address, path, { headers: { accept: "text/html" } })).text === text,
      `${path}: ${text}`,
    );
  write(config({ root: second }));
  await becomes("/", "second");
  write(config({ root: first, basePath: "/panel" }));
  await becomes("/panel/x", indexAt("/panel"));
  assert.equal((await get(address, "/x")).status, 404);
  write(config({ root: first, enabled: false }));
  await until(async () => (await get(address, "/panel/x")).status === 404, "the end");
  write(config({ root: first }, { assistant: { name: "Ada", avatar: "🦉" } }));
  await until(async () => (await get(address, "/__svc/control-ui-config.json")).text.includes("Ada"), "the name");
  assert.equal(report()?.generation, generation);
  assert.ok(INDEX.includes("./assets"));
});

/** Pages below `/__svc__/`: who may read them, which files, which headers. Spec: http/auth.md §11; methods-node.md §3. */
import assert from "node:assert/strict";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { nodeCanvas } from "@svc/sdk/nodes";
import { WebSocket } from "ws";
import { directory, put } from "../../directory.ts";
import { openRaw } from "../../raw-socket.ts";
import { until } from "../../until.ts";
import { canvasScene, FAR, get, pathOf } from "./scene.ts";

const limited = { timeout: 120_000 };
const BROWSER = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

describe("access to pages", limited, () => {
  it("a program on this machine, the gateway's credential or a capability; nothing else [H10.11]", async (t) => {
    const scene = await canvasScene(t);
    const path = "/__svc__/canvas/";
    const bearer = (token: string) => ({ ...FAR, authorization: `Bearer ${token}` });
    assert.equal((await scene.get(path)).status, 200);
    for (const headers of [FAR, { host: "gateway.example" }, { forwarded: "for=1.2.3.4" }, bearer("wrong")]) {
      const { status, text } = await scene.get(path, headers);
      assert.equal(status, 401, JSON.stringify(headers));
      assert.ok(!text.includes("Canvas"));
    }
    assert.equal((await scene.get(path, bearer(String(scene.gateway.auth.token)))).status, 200);

    const { client: node } = await scene.node();
    const { canvasCapability: token, canvasHostUrl } = await node.call(nodeCanvas.refresh, {});
    assert.equal(canvasHostUrl, `${scene.base}/__svc__/cap/${token}`);
    const scoped = `${pathOf(canvasHostUrl)}${path}`;
    for (const one of [scoped, `${path}?oc_cap=${token}`]) assert.equal((await scene.get(one, FAR)).status, 200, one);
    const dead = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
    for (const one of [
      `/__svc__/cap/${dead}${path}`,
      `${path}?oc_cap=${dead}`,
      `${path}?oc_cap=`,
      `/__svc__/cap/${token}x${path}`,
    ]) {
      assert.equal((await scene.get(one, FAR)).status, 401, one);
    }
    assert.equal((await scene.get(`/__svc__/cap/${dead}${path}`)).status, 401, "also on this machine");
    const { status, headers } = await scene.get(pathOf(canvasHostUrl), FAR);
    assert.deepEqual([status, headers.location], [302, scoped]);

    const next = await node.call(nodeCanvas.refresh, {});
    assert.notEqual(next.canvasCapability, token);
    assert.equal((await scene.get(scoped, FAR)).status, 401, "a new capability ends the old one");
    await node.close();
    await until(async () => (await scene.get(`${pathOf(next.canvasHostUrl)}${path}`, FAR)).status === 401, "the end");
  });

  it("with wrong guesses, the gateway's credential is locked out as on every route", async (t) => {
    const scene = await canvasScene(t, {}, { config: { gateway: { auth: { rateLimit: { maxAttempts: 2 } } } } });
    const wrong = { ...FAR, authorization: "Bearer wrong" };
    for (let n = 0; n < 2; n++) assert.equal((await scene.get("/__svc__/canvas/", wrong)).status, 401);
    const { status, headers } = await scene.get("/__svc__/canvas/", wrong);
    assert.deepEqual([status, Number(headers["retry-after"]) > 0], [429, true]);
  });

  it("a browser on this machine gets an address with a capability; requests of other pages get nothing", async (t) => {
    const scene = await canvasScene(t);
    scene.page("a b/x.html", "<p>x</p>");
    const { status, headers } = await scene.get("/__svc__/canvas/a%20b/x.html", BROWSER);
    assert.equal(status, 302);
    assert.match(headers.location ?? "", /^\/__svc__\/cap\/[\w-]{24}\/__svc__\/canvas\/a%20b\/x\.html$/);
    const { status: moved, text } = await scene.get(headers.location ?? "", BROWSER);
    assert.equal(moved, 200);
    assert.match(text, /<p>x<\/p>/);
    for (const mode of ["no-cors", "cors", "same-origin"]) {
      const foreign = { "sec-fetch-site": "cross-site", "sec-fetch-mode": mode };
      assert.equal((await scene.get("/__svc__/canvas/a%20b/x.html", foreign)).status, 403, mode);
    }
    const { headers: plain } = await scene.get("/__svc__/canvas/a%20b/x.html");
    assert.equal(plain["cross-origin-resource-policy"], "same-origin");
    assert.equal(plain["access-control-allow-origin"], undefined);
  });

  it("mode none serves this machine, and nobody else without a capability", async (t) => {
    const scene = await canvasScene(t, {}, { config: { gateway: { auth: { mode: "none" } } } });
    assert.equal((await scene.get("/__svc__/canvas/")).status, 200);
    assert.equal((await scene.get("/__svc__/canvas/", FAR)).status, 401);
    const foreign = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
    assert.equal((await scene.get("/__svc__/canvas/", foreign)).status, 403);
  });

  it("a capability is valid for 600000 ms, and shown to the node only", async (t) => {
    const scene = await canvasScene(t);
    const { client: node } = await scene.node();
    const before = Date.now();
    const { canvasCapabilityExpiresAtMs: until } = await node.call(nodeCanvas.refresh, {});
    assert.ok(until >= before + 600_000 && until <= Date.now() + 600_000);
    await assert.rejects(scene.client.call(nodeCanvas.refresh, {}), { message: "unauthorized role: operator" });
    await assert.rejects(node.request("node.canvas.capability.refresh", { x: 1 }), { code: "INVALID_REQUEST" });
  });
});

describe("canvasHostUrl in hello-ok", limited, () => {
  it("is an address with a capability for a node, and the plain one for an operator [W11.5]", async (t) => {
    const scene = await canvasScene(t);
    const urlOf = ({ hello }: { hello: object }) => (hello as { canvasHostUrl?: string }).canvasHostUrl ?? "";
    assert.equal(urlOf(scene.client), scene.base);
    const { client: node } = await scene.node();
    assert.match(urlOf(node), /^http:\/\/127\.0\.0\.1:\d+\/__svc__\/cap\/[\w-]{24}$/);
    assert.equal((await scene.get(`${pathOf(urlOf(node))}/__svc__/canvas/`, FAR)).status, 200);
    const socket = await openRaw(scene.gateway.url, { host: "Gateway.Example:8443" });
    const params = { minProtocol: 3, maxProtocol: 3, client: { id: "cli", version: "1", platform: "x", mode: "cli" } };
    const auth = { token: scene.gateway.auth.token };
    socket.send({ type: "req", id: "c1", method: "connect", params: { ...params, auth } });
    const { payload } = await socket.next(({ id }) => id === "c1");
    assert.equal(payload?.["canvasHostUrl"], "http://gateway.example:8443");
  });

  it("is absent, and nothing is served, while the canvas is off", async (t) => {
    const scene = await canvasScene(t, { enabled: false });
    assert.ok(!("canvasHostUrl" in scene.client.hello));
    assert.equal((await scene.get("/__svc__/canvas/")).status, 404);
    const { client: node } = await scene.node();
    await assert.rejects(node.call(nodeCanvas.refresh, {}), { code: "UNAVAILABLE", message: /canvasHost\.enabled/ });
    assert.ok(!existsSync(join(scene.stateDir, "canvas")));
  });

  it("behind a trusted proxy with TLS, the address begins with https", async (t) => {
    const scene = await canvasScene(t, {}, { config: { gateway: { trustedProxies: ["127.0.0.1"] } } });
    const socket = await openRaw(scene.gateway.url, {
      host: "gateway.example",
      "x-forwarded-for": "203.0.113.7",
      "x-forwarded-proto": "https",
    });
    const params = { minProtocol: 3, maxProtocol: 3, client: { id: "cli", version: "1", platform: "x", mode: "cli" } };
    socket.send({
      type: "req",
      id: "c1",
      method: "connect",
      params: { ...params, auth: { token: scene.gateway.auth.token } },
    });
    const { payload } = await socket.next(({ id }) => id === "c1");
    assert.equal(payload?.["canvasHostUrl"], "https://gateway.example");
  });
});

describe("files of the root", limited, () => {
  it("the default root gets a first page, once; directories have an index and no listing", async (t) => {
    const scene = await canvasScene(t);
    assert.ok(!existsSync(join(scene.stateDir, "canvas")), "nothing is written before the first request");
    assert.match((await scene.get("/__svc__/canvas/")).text, /<h1>Canvas<\/h1>/);
    scene.page("index.html", "mine");
    scene.page("data/list.json", "[1]");
    scene.page("pages/index.html", "<body>inner</body>");
    assert.match((await scene.get("/__svc__/canvas/")).text, /^mine/);
    const types = async (path: string) => {
      const { status, headers } = await scene.get(`/__svc__/canvas${path}`);
      return [status, headers["content-type"] ?? headers.location];
    };
    assert.deepEqual(await types("/data/list.json"), [200, "application/json; charset=utf-8"]);
    assert.deepEqual(await types("/pages/"), [200, "text/html; charset=utf-8"]);
    assert.deepEqual(await types("/pages"), [302, "/__svc__/canvas/pages/"]);
    assert.deepEqual(await types(""), [302, "/__svc__/canvas/"]);
    for (const path of ["/data/", "/nothing.html", "/data/list.json/", "/data/list.json/x"]) {
      assert.equal((await types(path))[0], 404, path);
    }
    scene.page("file.unknown", "<script>1</script>");
    assert.deepEqual(await types("/file.unknown"), [200, "application/octet-stream"]);
  });

  it("nothing outside, no links, no hidden names, no large files", async (t) => {
    const scene = await canvasScene(t);
    const outside = directory(t);
    put(join(outside, "secret.txt"), "outside");
    put(join(scene.stateDir, "svc-secret.txt"), "outside");
    scene.page("plain.txt", "inside");
    const root = join(scene.stateDir, "canvas");
    symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"));
    symlinkSync(outside, join(root, "linked"));
    linkSync(join(outside, "secret.txt"), join(root, "hard.txt"));
    mkdirSync(join(root, ".git"));
    writeFileSync(join(root, ".git", "config"), "hidden");
    writeFileSync(join(root, ".env"), "hidden");
    writeFileSync(join(root, "large.bin"), "");
    truncateSync(join(root, "large.bin"), 16 * 1_024 * 1_024 + 1);
    assert.equal((await scene.get("/__svc__/canvas/plain.txt")).text, "inside");
    const bad = [
      "link.txt",
      "linked/secret.txt",
      "hard.txt",
      ".env",
      ".git/config",
      "../svc-secret.txt",
      "..%2fsvc-secret.txt",
      "%2e%2e/svc-secret.txt",
      "a/../../svc-secret.txt",
      "plain.txt%00",
      "..\\svc-secret.txt",
    ];
    for (const name of bad) {
      const { status, text } = await scene.get(`/__svc__/canvas/${name}`);
      assert.ok(status === 404 || status === 400, `${name}: ${status}`);
      assert.ok(!/outside|hidden/.test(text), name);
    }
    assert.equal((await scene.get("/__svc__/canvas/large.bin")).status, 413);
    for (const path of ["/__svc__/", "/__svc__/other/", "/__svc__/a2ui/x.js", "/__svc__"]) {
      assert.equal((await scene.get(path)).status, 404, path);
    }
  });

  it("another root is used as it is, and a change has an effect at once", async (t) => {
    const root = directory(t);
    put(join(root, "mine.html"), "mine");
    const scene = await canvasScene(t, { root });
    assert.match((await scene.get("/__svc__/canvas/mine.html")).text, /^mine/);
    assert.equal((await scene.get("/__svc__/canvas/")).status, 404);
    assert.ok(!existsSync(join(root, "index.html")), "nothing is written there");
    await assert.rejects(canvasScene(t, { root: "relative/path" }), /canvasHost\.root/);
    const missing = await canvasScene(t, { root: join(root, "none") });
    assert.equal((await missing.get("/__svc__/canvas/mine.html")).status, 404);
  });

  it("every response forbids caching, guessing of types, referrers and everything outside of the page", async (t) => {
    const scene = await canvasScene(t);
    const { client: node } = await scene.node();
    const { canvasHostUrl } = await node.call(nodeCanvas.refresh, {});
    for (const path of ["/__svc__/canvas/", "/__svc__/a2ui/", "/__svc__/canvas"]) {
      const { headers } = await scene.get(`${pathOf(canvasHostUrl)}${path}`, FAR);
      assert.equal(headers["cache-control"], "no-store");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(headers["referrer-policy"], "no-referrer");
      const policy = String(headers["content-security-policy"]);
      assert.match(policy, /^sandbox allow-scripts/);
      assert.ok(!policy.includes("allow-same-origin") && !policy.includes("http"), policy);
    }
    const { headers } = await scene.get(`${pathOf(canvasHostUrl)}/__svc__/canvas/`, FAR);
    assert.equal(headers["access-control-allow-origin"], "*");
    assert.deepEqual((await get(scene.base, "/__svc__/canvas/", {}, "POST")).status, 405);
    assert.equal((await get(scene.base, "/__svc__/canvas/", {}, "HEAD")).text, "");
  });

  it("names of existing clients work behind a capability", async (t) => {
    const scene = await canvasScene(t, {}, { config: { gateway: { aliases: ["acme"] } } });
    const { client: node } = await scene.node();
    const base = pathOf((await node.call(nodeCanvas.refresh, {})).canvasHostUrl);
    assert.equal((await scene.get(`${base}/__acme__/canvas/`, FAR)).status, 200);
    const { text } = await scene.get(`${base}/__acme__/a2ui/?platform=ios`, FAR);
    assert.match(text, /"svcA2UI","acmeA2UI"/);
    assert.equal((await scene.get(`${base}/__other__/canvas/`, FAR)).status, 404);
  });
});

describe("live reload", limited, () => {
  /** Reads server-sent events until `stop`. */
  async function listen(url: string, headers: Record<string, string> = {}) {
    const ending = new AbortController();
    const response = await fetch(url, { headers, signal: ending.signal });
    const state = { text: "", over: false };
    const reading = (async () => {
      const decoder = new TextDecoder();
      try {
        for await (const chunk of response.body ?? []) state.text += decoder.decode(chunk as Uint8Array);
      } catch {
        // aborted
      }
      state.over = true;
    })();
    return { response, state, stop: async () => (ending.abort(), reading) };
  }

  it("streams a reload after a change of a file, to every page that listens", async (t) => {
    const scene = await canvasScene(t);
    scene.page("index.html", "<html><BODY>one</BODY></html>");
    const html = (await scene.get("/__svc__/canvas/")).text;
    assert.match(html, /one<script>new EventSource\("\/__svc__\/ws"\).*<\/script><\/BODY>/);
    const pages = [await listen(`${scene.base}/__svc__/ws`), await listen(`${scene.base}/__svc__/ws`)];
    assert.equal(pages[0]?.response.headers.get("content-type"), "text/event-stream");
    await until(() => pages.every(({ state }) => state.text.startsWith("retry:")), "the first event");
    scene.page("index.html", "two");
    await until(() => pages.every(({ state }) => state.text.includes("event: reload")), "the reload");
    await pages[0]?.stop();
    scene.page("deep/er/file.css", "a{}");
    await until(() => (pages[1]?.state.text.split("event: reload").length ?? 0) > 2, "another reload");
    await pages[1]?.stop();
  });

  it("ends with the capability, and is refused without one", async (t) => {
    const scene = await canvasScene(t);
    const { client: node } = await scene.node();
    const { canvasHostUrl } = await node.call(nodeCanvas.refresh, {});
    const page = await listen(`${canvasHostUrl}/__svc__/ws`, FAR);
    await until(() => page.state.text !== "", "the stream");
    await node.call(nodeCanvas.refresh, {});
    await until(() => page.state.over, "the end of the stream");
    for (const path of ["/__svc__/ws", "/__svc__/cap/none/__svc__/ws"]) {
      assert.equal((await scene.get(path, FAR)).status, 401, path);
    }
    const html = await scene.get(
      `${pathOf((await node.call(nodeCanvas.refresh, {})).canvasHostUrl)}/__svc__/canvas/`,
      FAR,
    );
    assert.match(html.text, /EventSource\("\/__svc__\/cap\/[\w-]{24}\/__svc__\/ws"\)/);
  });

  it("a WebSocket upgrade is refused with the reason, and opens no connection of the gateway [W1.3 W1.4]", async (t) => {
    const scene = await canvasScene(t);
    for (const path of ["/__svc__/ws", "/__svc__/cap/none/__svc__/ws", "/__svc__/cap/%2e", "/__svc__/canvas/"]) {
      const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
        const ws = new WebSocket(scene.gateway.url + path);
        ws.on("open", () => reject(new Error(`${path} opened`)));
        ws.on("error", () => undefined);
        ws.on("unexpected-response", (_, response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => (text += chunk.toString()));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        });
      });
      assert.equal(status, 426, path);
      assert.match(body, /server-sent events/);
    }
    const other = await openRaw(`${scene.gateway.url}/any/path`);
    other.ws.close();
  });

  it("is off with liveReload false: pages are unchanged, and nothing streams", async (t) => {
    const scene = await canvasScene(t, { liveReload: false });
    scene.page("index.html", "<body>one</body>");
    assert.equal((await scene.get("/__svc__/canvas/")).text, "<body>one</body>");
    assert.equal((await scene.get("/__svc__/ws")).status, 404);
  });

  it("is bounded: 64 pages", async (t) => {
    const scene = await canvasScene(t);
    const pages = [];
    for (let n = 0; n < 64; n++) pages.push(await listen(`${scene.base}/__svc__/ws`));
    const { status, headers } = await scene.get("/__svc__/ws");
    assert.deepEqual([status, headers["retry-after"]], [503, "10"]);
    await Promise.all(pages.map(({ stop }) => stop()));
    await until(async () => {
      const again = await listen(`${scene.base}/__svc__/ws`);
      await again.stop();
      return again.response.status === 200;
    }, "a free place");
  });

  it("a reload of the plugin ends the streams", async (t) => {
    const scene = await canvasScene(t);
    const page = await listen(`${scene.base}/__svc__/ws`);
    await until(() => page.state.text !== "", "the stream");
    await scene.reload("canvas");
    await until(() => page.state.over, "the end of the stream");
    assert.equal(readFileSync(join(scene.stateDir, "canvas", "index.html"), "utf8").startsWith("<!doctype"), true);
  });
});

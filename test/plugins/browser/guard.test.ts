/** What pages may reach: nothing inside a network, whatever way they try. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { withDefaults } from "@svc/sdk";
import { connectSocket } from "@svc/kit/net";
import { createFakeClock } from "@svc/sdk/testing";
import { BrowserConfig } from "../../../plugins/browser/config.ts";
import { createVet } from "../../../plugins/browser/guard/policy.ts";
import { startGuard } from "../../../plugins/browser/guard/proxy.ts";
import { listen, PUBLIC } from "../outbound/scene.ts";
import { NO_CHROMIUM, scene } from "./scene.ts";

const vetWith = (ssrfPolicy: object, addresses: readonly string[] = [PUBLIC]) =>
  createVet(withDefaults(BrowserConfig, { ssrfPolicy }).ssrfPolicy, async () => addresses);

describe("the policy of addresses", () => {
  const refusals: [why: string, url: string, policy: object, addresses: readonly string[], code: string][] = [
    ["loopback", "http://127.0.0.1/", {}, [], "ADDRESS_NOT_PUBLIC"],
    ["loopback in IPv6", "http://[::1]/", {}, [], "ADDRESS_NOT_PUBLIC"],
    ["a private address", "http://10.1.2.3/", {}, [], "ADDRESS_NOT_PUBLIC"],
    ["the metadata of clouds", "http://169.254.169.254/", {}, [], "ADDRESS_NOT_PUBLIC"],
    ["a mapped address", "http://[::ffff:10.0.0.1]/", {}, [], "ADDRESS_NOT_PUBLIC"],
    ["localhost", "http://localhost/", {}, [PUBLIC], "ADDRESS_NOT_PUBLIC"],
    ["a name of loopback", "http://evil.test/", {}, ["127.0.0.1"], "ADDRESS_NOT_PUBLIC"],
    ["a name with a private address among others", "http://evil.test/", {}, [PUBLIC, "10.0.0.1"], "ADDRESS_NOT_PUBLIC"],
    [
      "a name outside of the allowlist",
      "http://other.test/",
      { hostnameAllowlist: ["*.good.test"] },
      [PUBLIC],
      "HOST_NOT_ALLOWED",
    ],
    [
      "a name below an allowed host name",
      "http://x.in.test/",
      { allowedHostnames: ["in.test"] },
      ["10.0.0.1"],
      "ADDRESS_NOT_PUBLIC",
    ],
  ];
  for (const [why, url, policy, addresses, code] of refusals) {
    it(`refuses ${why}`, () =>
      assert.rejects(vetWith(policy, addresses)(new URL(url)), { code: "INVALID_REQUEST", details: { code } }));
  }

  const allowed: [why: string, url: string, policy: object, addresses: readonly string[]][] = [
    ["a public name", "http://good.test/", {}, [PUBLIC]],
    ["private addresses if configured", "http://10.0.0.1/", { allowPrivateNetwork: true }, []],
    [
      "private addresses if configured under the other name",
      "http://10.0.0.1/",
      { dangerouslyAllowPrivateNetwork: true },
      [],
    ],
    ["a host name that may be private", "http://in.test/", { allowedHostnames: ["in.test"] }, ["10.0.0.1"]],
    ["a name below an entry of the allowlist", "http://a.good.test/", { hostnameAllowlist: ["*.good.test"] }, [PUBLIC]],
  ];
  for (const [why, url, policy, addresses] of allowed) {
    it(`allows ${why}`, async () => {
      const { addresses: found } = await vetWith(policy, addresses)(new URL(url));
      assert.equal(found.length, 1);
    });
  }

  it("says that a name has no address", async () => {
    await assert.rejects(vetWith({}, [])(new URL("http://none.test/")), { code: "UNAVAILABLE" });
  });
});

async function guardScene(t: TestContext) {
  const seen: unknown[] = [];
  const port = await listen(
    t,
    createServer((incoming, response) => {
      seen.push(incoming.headers);
      response.end("hello");
    }),
  );
  const connect = (_: string, __: number, signal: AbortSignal) => connectSocket("127.0.0.1", port, signal);
  const guard = await startGuard({ vet: vetWith({}), connect, clock: createFakeClock() });
  t.after(() => guard.close());
  const credential = `Basic ${Buffer.from(`${guard.username}:${guard.password}`).toString("base64")}`;
  const get = (url: string, headers: Record<string, string> = { "proxy-authorization": credential }) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      request({ port: guard.port, path: url, headers: { host: "x", ...headers }, agent: false }, (reply) => {
        let text = "";
        reply.setEncoding("utf8").on("data", (part: string) => (text += part));
        reply.on("end", () => resolve({ status: reply.statusCode, text }));
      })
        .on("error", reject)
        .end();
    });
  return { guard, get, seen, credential };
}

describe("the proxy of the browser", () => {
  it("serves nobody without its credential", async (t) => {
    const { get, seen } = await guardScene(t);
    assert.equal((await get("http://good.test/", {})).status, 407);
    assert.equal((await get("http://good.test/", { "proxy-authorization": "Basic eDp5" })).status, 407);
    assert.deepEqual(seen, []);
  });

  it("connects to the checked address, without its own header fields", async (t) => {
    const { get, seen, credential } = await guardScene(t);
    assert.deepEqual(await get("http://good.test/a", { "proxy-authorization": credential, "proxy-connection": "x" }), {
      status: 200,
      text: "hello",
    });
    assert.deepEqual(seen, [{ host: "good.test", connection: "close" }]);
  });

  it("opens tunnels to checked addresses only", async (t) => {
    const { guard, credential } = await guardScene(t);
    const tunnel = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const asked = request({ port: guard.port, method: "CONNECT", path, agent: false });
        asked.setHeader("proxy-authorization", credential);
        asked.on("error", reject).end();
        asked.on("connect", ({ statusCode }, socket) => {
          if (statusCode !== 200) return resolve(String(statusCode));
          let text = "";
          socket.setEncoding("utf8").on("data", (part: string) => (text += part));
          socket.on("end", () => resolve(text));
          socket.write("GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n");
        });
      });
    assert.match(await tunnel("good.test:443"), /200 OK[\s\S]*hello/);
    assert.equal(await tunnel("10.0.0.1:443"), "403");
  });

  it("refuses private addresses and addresses that are none, and remembers why", async (t) => {
    const { get, guard } = await guardScene(t);
    assert.equal((await get("http://192.168.1.1/")).status, 403);
    assert.equal((await get("ftp://good.test/")).status, 403);
    assert.equal((await get("/relative")).status, 403);
    assert.equal(guard.refused.total, 1);
    assert.deepEqual(
      guard.refused.items.map(({ host }) => host),
      ["192.168.1.1"],
    );
    assert.deepEqual(guard.refused.since(1), []);
  });
});

describe("pages behind the guard", { skip: NO_CHROMIUM }, () => {
  /** A server inside: nothing may arrive at it. */
  async function inside(t: TestContext) {
    const arrived: string[] = [];
    const server = createServer((incoming, response) => {
      arrived.push(String(incoming.url));
      response.end("secret");
    });
    server.on("upgrade", (incoming, socket) => {
      arrived.push(`upgrade ${incoming.url}`);
      socket.destroy();
    });
    return { port: await listen(t, server), arrived };
  }

  it("cannot follow a redirect to a private address", async (t) => {
    const { port, arrived } = await inside(t);
    const { ask, refuses, dials } = await scene(t, {
      "evil.test/": (_, response) => void response.writeHead(302, { location: `http://127.0.0.1:${port}/admin` }).end(),
    });
    await refuses(
      ask("POST", "/tabs/open", { url: "http://evil.test/" }),
      "INVALID_REQUEST",
      /127\.0\.0\.1.* is not a public/,
    );
    assert.deepEqual(arrived, []);
    assert.ok(dials.every((one) => one.startsWith(`${PUBLIC}:`)));
    assert.equal(((await ask("GET", "/tabs"))["tabs"] as unknown[]).length, 1, "the tab of a refused page is closed");
  });

  it("cannot use a name that resolves to loopback, also over TLS", async (t) => {
    const { ask, refuses, dials } = await scene(t, {}, { names: { "evil.test": ["127.0.0.1"] } });
    await refuses(ask("POST", "/tabs/open", { url: "http://evil.test/" }), "INVALID_REQUEST", /not public/);
    await refuses(ask("POST", "/tabs/open", { url: "https://evil.test/" }), "INVALID_REQUEST", /not public/);
    // Chromium has traffic of its own, to public addresses.
    assert.ok(dials.every((one) => one.startsWith(`${PUBLIC}:`)));
  });

  it("cannot reach loopback by WebSocket, fetch, image, frame, worker, WebRTC or a popup", async (t) => {
    const { port, arrived } = await inside(t);
    const udp = createSocket("udp4");
    udp.on("message", () => arrived.push("udp"));
    await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve));
    t.after(() => udp.close());
    const stun = (udp.address() as AddressInfo).port;
    const worker = `onmessage = () => fetch("http://127.0.0.1:${port}/worker").catch(() => 0).then(() => postMessage(1))`;
    const { ask, run } = await scene(t, {
      "good.test/": `<h1>ok</h1><img src="http://127.0.0.1:${port}/img"><iframe src="http://localhost:${port}/frame"></iframe><link rel=preconnect href="http://127.0.0.1:${port}">`,
      "good.test/w.js": (_, response) => void response.setHeader("content-type", "text/javascript").end(worker),
    });
    await ask("POST", "/tabs/open", { url: "http://good.test/" });
    const results = await run(`async () => {
      const socket = (url) => new Promise((done) => { const s = new WebSocket(url); s.onopen = () => done("open"); s.onerror = () => done("error"); });
      const out = [await socket("ws://127.0.0.1:${port}/ws"), await socket("wss://localhost:${port}/wss")];
      out.push(await fetch("http://[::1]:${port}/f", { mode: "no-cors" }).then((r) => r.type, () => "failed"));
      await new Promise((done) => { const w = new Worker("/w.js"); w.onmessage = done; w.onerror = done; w.postMessage(1); });
      const frame = document.createElement("iframe");
      document.body.append(frame);
      const Peer = frame.contentWindow.RTCPeerConnection ?? window.RTCPeerConnection;
      if (Peer) { const p = new Peer({ iceServers: [{ urls: "stun:127.0.0.1:${stun}" }] }); p.createDataChannel("x"); await p.setLocalDescription(); await new Promise((done) => setTimeout(done, 500)); }
      window.open("http://127.0.0.1:${port}/popup");
      return [...out, typeof window.RTCPeerConnection, navigator.serviceWorker === undefined ? "none" : await navigator.serviceWorker.register("/w.js").then(() => "registered", () => "refused")];
    }`);
    assert.deepEqual(results.slice(0, 2), ["error", "error"]);
    assert.equal(results[3], "undefined");
    assert.notEqual(results[4], "registered");
    await ask("POST", "/act", { kind: "wait", timeMs: 300 });
    assert.deepEqual(arrived, []);
  });

  it("cannot send a download to a private address", async (t) => {
    const { port, arrived } = await inside(t);
    const { ask, refuses } = await scene(t, {
      "good.test/": `<a download href="/d">get</a>`,
      "good.test/d": (_, response) => void response.writeHead(302, { location: `http://127.0.0.1:${port}/d` }).end(),
    });
    await ask("POST", "/tabs/open", { url: "http://good.test/" });
    await refuses(ask("POST", "/download", { selector: "a", timeoutMs: 2_000 }), "UNAVAILABLE", /did not finish/);
    assert.deepEqual(arrived, []);
  });

  const addresses = [
    "file:///etc/passwd",
    "chrome://crash",
    "view-source:http://good.test/",
    "javascript:alert(1)",
    "data:text/html,x",
    "devtools://x",
    "ftp://good.test/",
  ];
  it("are http and https pages only", async (t) => {
    const { ask, refuses } = await scene(t);
    for (const url of addresses)
      await refuses(ask("POST", "/tabs/open", { url }), "INVALID_REQUEST", /http: and https: only/);
    await refuses(ask("POST", "/navigate", { url: "no url" }), "INVALID_REQUEST", /not a URL/);
  });
});

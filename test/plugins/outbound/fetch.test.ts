/** Fetches over real connections: destinations, redirects and limits. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer as createPlainServer } from "node:net";
import { describe, it } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { certificateFor } from "./certificate.ts";
import { internet, listen, PUBLIC, refused, text } from "./scene.ts";

const hello: RequestListener = (_, response) => void response.end("hello");

/** Redirects by path; any other path responds with the URL it was reached by. */
const redirecting =
  (steps: Readonly<Record<string, string>>, status = 302, seen: IncomingMessage[] = []): RequestListener =>
  (request, response) => {
    seen.push(request);
    const location = steps[`${request.headers.host}${request.url}`];
    if (location === undefined) response.end(`at ${request.headers.host}${request.url}`);
    else response.writeHead(status, { location }).end("moved");
  };

describe("a fetch", () => {
  it("answers with status, place, type and bytes", async (t) => {
    const { ask } = await internet(t, (request, response) => {
      response.writeHead(404, { "Content-Type": 'TEXT/Html; x=1; Charset="ISO-8859-1"', "X-Many": ["a", "b"] });
      response.end(`${request.method} ${request.url} ${request.headers["user-agent"]}`);
    });
    const answer = await ask("http://example.com./a?b=c#d");
    const { status, url, contentType, charset, headers } = answer;
    assert.deepEqual(
      [status, url, contentType, charset, headers["x-many"], text(answer)],
      [404, "http://example.com/a?b=c#d", "text/html", "ISO-8859-1", "a, b", "GET /a?b=c svc/1.0"],
    );
  });

  it("says octet-stream where the server says nothing", async (t) => {
    const { ask } = await internet(t, hello);
    const { contentType, charset } = await ask("http://example.com");
    assert.deepEqual([contentType, charset], ["application/octet-stream", undefined]);
  });

  it("sends method, headers and body", async (t) => {
    const { ask } = await internet(t, (request, response) => {
      const { "user-agent": agent, "x-one": one } = request.headers;
      request
        .toArray()
        .then((chunks) => response.end(`${request.method} ${agent} ${String(one)} ${chunks.join("")}`), assert.fail);
    });
    const answer = await ask("http://example.com", {
      method: "POST",
      headers: { "User-Agent": "mine", "X-One": "1" },
      body: "body",
    });
    assert.equal(text(answer), "POST mine 1 body");
  });

  it("does not let a caller set headers of the connection", async (t) => {
    const { ask, dials } = await internet(t, hello);
    for (const name of ["Host", "transfer-encoding", "Content-Length", "connection"])
      await assert.rejects(ask("http://example.com", { headers: { [name]: "x" } }), { code: "INVALID_REQUEST" }, name);
    assert.deepEqual(dials, []);
  });

  it("never asks a proxy of the environment", async (t) => {
    let proxied = 0;
    const proxy = createPlainServer((socket) => {
      proxied += 1;
      socket.destroy();
    });
    const port = await listen(t, proxy);
    const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"];
    const before = { ...process.env };
    t.after(() => {
      for (const name of names) delete process.env[name];
      Object.assign(process.env, before);
    });
    for (const name of names) process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : `http://127.0.0.1:${port}`;
    const { ask } = await internet(t, hello);
    assert.equal(text(await ask("http://example.com")), "hello");
    assert.equal(proxied, 0);
  });
});

describe("where it connects to", () => {
  it("is the vetted address, found by one lookup, though a second would differ", async (t) => {
    const names = { "rebind.test": [[PUBLIC], ["127.0.0.1"]] };
    const { ask, lookups, dials } = await internet(t, hello, { names });
    assert.equal(text(await ask("http://rebind.test:8080")), "hello");
    assert.deepEqual(lookups, ["rebind.test"]);
    assert.deepEqual(dials, [`${PUBLIC}:8080`]);
  });

  it("is resolved again, and refused, if the same name now has a private address", async (t) => {
    const names = { "rebind.test": [[PUBLIC], ["127.0.0.1"]] };
    const { ask, dials } = await internet(t, redirecting({ "rebind.test/": "/again" }), { names });
    await assert.rejects(ask("http://rebind.test"), refused("ADDRESS_NOT_PUBLIC"));
    assert.deepEqual(dials, [`${PUBLIC}:80`]);
  });

  it("is no name for an address: the literal is connected to without a lookup", async (t) => {
    const { ask, lookups, dials } = await internet(t, hello);
    await ask("http://8.8.8.8");
    await ask("http://[2606:4700::1111]:81");
    await ask("http://[::ffff:8.8.4.4]");
    assert.deepEqual([lookups, dials], [[], ["8.8.8.8:80", "2606:4700::1111:81", "8.8.4.4:80"]]);
  });

  it("is IPv4 first, each address once, the next one when one does not take the connection", async (t) => {
    const tried: string[] = [];
    const names = { "many.test": [["2606:4700::1", "8.8.8.8", "::ffff:8.8.8.8", "8.8.4.4"]] };
    const { ask } = await internet(t, hello, {
      names,
      connect: (address) => {
        tried.push(address);
        return Promise.reject(Object.assign(new Error("no"), { code: "ECONNREFUSED" }));
      },
    });
    await assert.rejects(ask("http://many.test"), { code: "UNAVAILABLE", message: /many\.test .*ECONNREFUSED/ });
    assert.deepEqual(tried, ["8.8.8.8", "8.8.4.4", "2606:4700::1"]);
  });

  const mixed: [why: string, addresses: string[]][] = [
    ["to loopback", ["127.0.0.1"]],
    ["to a zone", ["fe80::1%lo"]],
    ["to a legacy spelling", ["0177.0.0.1"]],
    ["to a public and a private address", [PUBLIC, "10.0.0.1"]],
    ["to a private address behind many", [...Array.from({ length: 9 }, (_, i) => `8.8.8.${i}`), "10.0.0.1"]],
    ["to a public IPv4 and a private IPv6 address", [PUBLIC, "fd00::1"]],
  ];
  for (const [why, addresses] of mixed)
    it(`is refused for a name that leads ${why}, without telling where`, async (t) => {
      const { ask, dials } = await internet(t, hello, { names: { "inside.test": [addresses] } });
      await assert.rejects(ask("http://inside.test"), (error: Error) => {
        assert.ok(!addresses.some((address) => error.message.includes(address)));
        assert.deepEqual((error as Error & { details?: unknown }).details, { code: "ADDRESS_NOT_PUBLIC" });
        return true;
      });
      assert.deepEqual(dials, []);
    });

  it("must exist", async (t) => {
    const { ask } = await internet(t, hello, { names: { "empty.test": [[]] } });
    await assert.rejects(ask("http://empty.test"), { code: "UNAVAILABLE", message: /no address/ });
    const failing = await internet(t, hello, {
      resolve: () => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" })),
    });
    await assert.rejects(failing.ask("http://gone.test"), { code: "UNAVAILABLE", message: /resolved \(ENOTFOUND\)/ });
  });

  it("has a certificate for the name in the URL, not for the address", async (t) => {
    const pair = certificateFor(["good.test"]);
    const options = { server: createSecureServer(pair, hello), ca: pair.cert };
    const { ask, dials } = await internet(t, hello, options);
    assert.equal(text(await ask("https://good.test./")), "hello");
    assert.deepEqual(dials, [`${PUBLIC}:443`]);
    const code = "UNAVAILABLE";
    await assert.rejects(ask("https://bad.test"), { code, message: /ERR_TLS_CERT_ALTNAME_INVALID/ });
    await assert.rejects(ask("https://8.8.8.8"), { code, message: /ERR_TLS_CERT_ALTNAME_INVALID/ });
    const stranger = await internet(t, hello, { server: createSecureServer(pair, hello) });
    await assert.rejects(stranger.ask("https://good.test"), { code, message: /SELF_SIGNED|UNABLE_TO_VERIFY/ });
  });
});

describe("redirects", () => {
  for (const written of ["/é", "/\u00c3\u00a9"])
    it(`may write their destination in bytes of UTF-8 or of Latin-1 (${written})`, async (t) => {
      const { ask } = await internet(t, redirecting({ "a.test/": written }));
      assert.equal((await ask("http://a.test")).url, "http://a.test/%C3%A9");
    });

  it("are not what 300, 304 and 305 are", async (t) => {
    const { ask } = await internet(
      t,
      (request, response) => void response.writeHead(Number(request.url?.slice(1)), { location: "/x" }).end(),
    );
    for (const status of [300, 304, 305]) assert.equal((await ask(`http://a.test/${status}`)).status, status);
  });

  it("to addresses and names inside are refused", async (t) => {
    const inside = ["http://127.0.0.1/", "http://0x7f.1", "//[::1]/", "http://metadata.google.internal"];
    for (const location of inside) {
      const { ask, dials } = await internet(t, redirecting({ "a.test/": location }));
      await assert.rejects(ask("http://a.test"), refused("ADDRESS_NOT_PUBLIC"), location);
      assert.deepEqual(dials, [`${PUBLIC}:80`]);
    }
  });

  it("to a name that leads inside are refused", async (t) => {
    const options = { names: { "inside.test": [["10.0.0.1"]] } };
    const { ask, dials } = await internet(t, redirecting({ "a.test/": "http://inside.test" }), options);
    await assert.rejects(ask("http://a.test"), refused("ADDRESS_NOT_PUBLIC"));
    assert.equal(dials.length, 1);
  });

  it("to hosts that are not allowed are refused", async (t) => {
    const { ask, dials } = await internet(
      t,
      redirecting({ "a.test/": "http://b.a.test/", "b.a.test/": "http://c.test/" }),
    );
    await assert.rejects(ask("http://a.test", { allowHosts: ["a.test", "*.a.test"] }), refused("HOST_NOT_ALLOWED"));
    assert.equal(dials.length, 2);
  });

  const broken: [why: string, code: string, location: string | string[] | undefined][] = [
    ["without a destination", "REDIRECT_INVALID", undefined],
    ["with a blank destination", "REDIRECT_INVALID", " "],
    ["with two destinations", "REDIRECT_INVALID", ["http://b.test", "http://c.test"]],
    ["to what is no URL", "REDIRECT_INVALID", "http://[bad"],
    ["to another protocol", "URL_INVALID", "file:///etc/passwd"],
    ["to a URL with credentials", "URL_INVALID", "http://me:secret@b.test/"],
    ["to themselves", "REDIRECT_INVALID", "/#again"],
  ];
  for (const [why, code, location] of broken)
    it(`${why} are refused with ${code}`, async (t) => {
      const { ask } = await internet(t, (_, response) => {
        if (location !== undefined) response.setHeader("location", location);
        response.writeHead(302).end();
      });
      await assert.rejects(ask("http://a.test"), refused(code));
    });

  it("in a circle are refused", async (t) => {
    const circle = { "a.test/": "http://b.test/", "b.test/": "http://a.test/" };
    const { ask, dials } = await internet(t, redirecting(circle));
    await assert.rejects(ask("http://a.test", { maxRedirects: 20 }), {
      ...refused("REDIRECT_INVALID"),
      message: /circle/,
    });
    assert.equal(dials.length, 2);
  });

  const chain = { "a.test/0": "/1", "a.test/1": "/2", "a.test/2": "/3" };
  it("are followed as often as the limit says", async (t) => {
    for (const maxRedirects of [0, 2]) {
      const { ask, dials } = await internet(t, redirecting(chain));
      await assert.rejects(ask("http://a.test/0", { maxRedirects }), refused("TOO_MANY_REDIRECTS"));
      assert.equal(dials.length, maxRedirects + 1);
    }
    const { ask } = await internet(t, redirecting(chain));
    assert.equal(text(await ask("http://a.test/0", { maxRedirects: 3 })), "at a.test/3");
  });

  const secrets = ["Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "X-Api-Key", "X-Whatever"];
  const headers = { ...Object.fromEntries(secrets.map((name) => [name, "s"])), Accept: "text/plain" };
  const kept = ({ headers: sent }: IncomingMessage) =>
    Object.keys(headers).filter((name) => sent[name.toLowerCase()] !== undefined);

  const origins: [why: string, location: string, carried: boolean][] = [
    ["within the origin", "http://a.test/next", true],
    ["to another host", "http://b.test/", false],
    ["to a host below", "http://x.a.test/", false],
    ["to another port", "http://a.test:81/", false],
  ];
  for (const [why, location, carried] of origins)
    it(`${why} ${carried ? "keep" : "drop"} credentials`, async (t) => {
      const seen: IncomingMessage[] = [];
      const { ask } = await internet(t, redirecting({ "a.test/": location }, 307, seen));
      await ask("http://a.test", { headers });
      assert.deepEqual(seen.map(kept), [Object.keys(headers), carried ? Object.keys(headers) : ["Accept"]]);
    });

  it("do not give credentials back on the way home", async (t) => {
    const seen: IncomingMessage[] = [];
    const { ask } = await internet(
      t,
      redirecting({ "a.test/": "http://b.test/", "b.test/": "http://a.test/home" }, 302, seen),
    );
    await ask("http://a.test", { headers });
    assert.deepEqual(seen.map(kept).at(-1), ["Accept"]);
  });

  for (const [status, received] of [
    [301, "GET undefined "],
    [302, "GET undefined "],
    [303, "GET undefined "],
    [307, "POST text/x form"],
    [308, "POST text/x form"],
  ] as const)
    it(`of ${status} are followed; a POST arrives as ${received}`, async (t) => {
      const { ask } = await internet(t, (request, response) => {
        if (request.url === "/") return void response.writeHead(status, { location: "http://b.test/x" }).end();
        const { method, headers: sent } = request;
        return void request
          .toArray()
          .then((all) => response.end(`${method} ${sent["content-type"]} ${all.join("")}`), assert.fail);
      });
      const asked = { method: "POST", headers: { "content-type": "text/x" }, body: "form" } as const;
      const answer = await ask("http://a.test", asked);
      assert.deepEqual([answer.url, text(answer)], ["http://b.test/x", received]);
    });
});

describe("sizes", () => {
  const maxBytes = 1_000;
  const encoded =
    (encoding: string, encode: (bytes: Buffer) => Buffer) =>
    (bytes: Buffer): RequestListener =>
    (_, response) =>
      void response.setHeader("content-encoding", encoding).end(encode(bytes));
  const served: [why: string, size: number, listener: (bytes: Buffer) => RequestListener][] = [
    ["declared", 1_001, (bytes) => (_, response) => void response.setHeader("content-length", bytes.length).end(bytes)],
    [
      "chunked",
      1_001,
      (bytes) => (_, response) => (response.write(bytes.subarray(1)), void response.end(bytes.subarray(0, 1))),
    ],
    ["gzip", 1_001, encoded("gzip", gzipSync)],
    ["br", 1_001, encoded("br", brotliCompressSync)],
    ["a gzip bomb", 50_000_000, encoded("gzip", gzipSync)],
  ];
  for (const [why, size, listener] of served)
    it(`at the limit are taken, above it refused (${why})`, async (t) => {
      const large = await internet(t, listener(Buffer.alloc(size)));
      await assert.rejects(large.ask("http://a.test", { maxBytes }), refused("TOO_LARGE"));
      const { ask } = await internet(t, listener(Buffer.alloc(maxBytes)));
      assert.equal((await ask("http://a.test", { maxBytes })).body.length, maxBytes);
    });

  it("without an end are cut off at the limit", async (t) => {
    let sent = 0;
    const { ask } = await internet(t, (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on("drain", more);
      more();
    });
    await assert.rejects(ask("http://a.test", { maxBytes }), refused("TOO_LARGE"));
    assert.ok(sent < 50_000_000);
  });

  it("count before decompression as well: empty members without end do not pass", async (t) => {
    const { ask } = await internet(t, encoded("gzip", (bytes) => bytes)(Buffer.concat(Array(100).fill(gzipSync("")))));
    await assert.rejects(ask("http://a.test", { maxBytes }), refused("TOO_LARGE"));
  });

  const garbled: [why: string, listener: RequestListener][] = [
    ["cut off in the middle", encoded("gzip", (bytes) => gzipSync(bytes).subarray(0, 12))(Buffer.from("hello"))],
    ["compressed as nobody asked", encoded("zstd", (bytes) => bytes)(Buffer.from("x"))],
    [
      "shorter than declared",
      (_, response) => {
        response.setHeader("content-length", 9).write("x");
        setImmediate(() => response.destroy());
      },
    ],
  ];
  for (const [why, listener] of garbled)
    it(`of a body ${why}: it is unavailable`, async (t) => {
      const { ask } = await internet(t, listener);
      await assert.rejects(ask("http://a.test"), { name: "GatewayError", code: "UNAVAILABLE" });
    });
});

describe("the end", () => {
  const late = { name: "GatewayError", code: "UNAVAILABLE", message: /did not respond within 10000 ms/ };

  const silent: [why: string, listener: (arrived: () => void) => RequestListener][] = [
    ["never answers", (arrived) => () => arrived()],
    ["stops in the middle of its body", (arrived) => (_, response) => (response.write("x"), setImmediate(arrived))],
    [
      "answers the first and not the second step",
      (arrived) => (request, response) =>
        request.url === "/" ? void response.writeHead(302, { location: "/x" }).end() : arrived(),
    ],
  ];
  for (const [why, listener] of silent)
    it(`comes by time for a server that ${why}`, async (t) => {
      let arrived = () => {};
      const asked = new Promise<void>((resolve) => (arrived = resolve));
      const { ask, clock } = await internet(
        t,
        listener(() => arrived()),
      );
      const answer = assert.rejects(ask("http://a.test"), late);
      await asked;
      await clock.advance(10_000);
      await answer;
      assert.equal(clock.pending, 0);
    });

  it("comes by time for a name that is never resolved", async (t) => {
    const { ask, clock } = await internet(t, hello, { resolve: () => new Promise(() => {}) });
    const answer = assert.rejects(ask("http://a.test"), late);
    await clock.advance(10_000);
    await answer;
  });

  it("comes by time where each address is silent, and leaves the second one its share", async (t) => {
    const tried: string[] = [];
    const { ask, clock } = await internet(t, hello, {
      names: { "a.test": [["8.8.8.8", "8.8.4.4"]] },
      connect: (address, _, signal) => {
        tried.push(address);
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error)); // a deadline's reason is one
        });
      },
    });
    const answer = assert.rejects(ask("http://a.test"), { code: "UNAVAILABLE" });
    await clock.advance(4_999);
    assert.deepEqual(tried, ["8.8.8.8"]);
    await clock.advance(1);
    assert.deepEqual(tried, ["8.8.8.8", "8.8.4.4"]);
    await clock.advance(5_000);
    await answer;
  });

  it("comes by the caller's signal, with its reason, and closes the connection", async (t) => {
    const caller = new AbortController();
    const why = new Error("the run was stopped");
    let closed = () => {};
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const { ask } = await internet(t, (request) => {
      request.socket.once("close", () => closed());
      caller.abort(why);
    });
    await assert.rejects(ask("http://a.test", { signal: caller.signal }), why);
    await gone;
    await assert.rejects(ask("http://a.test", { signal: caller.signal }), why);
  });

  it("comes with the plugin", async (t) => {
    const plugin = new AbortController();
    const { ask } = await internet(t, () => plugin.abort(new Error("stopping")), { signal: plugin.signal });
    await assert.rejects(ask("http://a.test"), /stopping/);
  });

  const sockets: [why: string, greeting: string][] = [
    ["closes at once", ""],
    ["does not speak HTTP", "SSH-2.0-x\r\n\r\n"],
  ];
  for (const [why, greeting] of sockets)
    it(`comes at once for a server that ${why}`, async (t) => {
      const server = createServer();
      server.removeAllListeners("connection").on("connection", (socket) => socket.end(greeting));
      const { ask } = await internet(t, hello, { server });
      await assert.rejects(ask("http://a.test"), { name: "GatewayError", code: "UNAVAILABLE" });
    });
});

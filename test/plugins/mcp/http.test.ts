/** Real servers over HTTP. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { textOf } from "@svc/sdk/models";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { createBoundedFetch } from "../../../plugins/mcp/bounded-fetch.ts";
import { listen, startHttpServer } from "./http-server.ts";
import { AWAY, CONNECTED, moving, scene } from "./scene.ts";

for (const transport of ["streamable-http", "sse"] as const) {
  describe(`a server that speaks ${transport}`, () => {
    it("offers its tools, is called, is listed again when they change, and gets the configured headers", async (t) => {
      const server = await startHttpServer(t);
      const url = transport === "sse" ? server.sse : server.url;
      const headers = { Authorization: { source: "env", id: "KEY" }, "x-team": "blue" };
      const secrets = async () => "Bearer canary";
      const { line, names, servers, use } = await scene(t, { docs: { url, transport, headers } }, { secrets });
      assert.deepEqual((await line(CONNECTED)).fields, { server: "docs", tools: 9 });
      assert.match(textOf(await use("docs__echo", { text: "hello" })), /you said: hello/);
      assert.equal((await use("docs__fail")).isError, true);
      const known = servers.tools();
      await use("docs__add", { text: "fresh" });
      while (servers.tools() === known) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(names().at(-1), "docs__fresh");
      assert.ok(server.requests.length >= 4);
      for (const { line: request, headers: sent } of server.requests)
        assert.deepEqual([sent.authorization, sent["x-team"]], ["Bearer canary", "blue"], request);
    });
  });
}

describe("a server over HTTP", () => {
  it("that has forgotten the session is reconnected", async (t) => {
    const server = await startHttpServer(t);
    const { clock, line, use } = await scene(t, { docs: { url: server.url } });
    await line(CONNECTED);
    server.forget();
    await assert.rejects(use("docs__echo", { text: "hello" }), { code: "UNAVAILABLE" });
    assert.match(String((await line(AWAY)).fields["reason"]), /no such session/);
    await clock.advance(2_000);
    await line(CONNECTED, 2);
    assert.match(textOf(await use("docs__echo", { text: "hello" })), /you said: hello/);
  });

  it("is notified when its client disconnects", async (t) => {
    const server = await startHttpServer(t);
    const { clock, line, servers } = await scene(t, { docs: { url: server.url } });
    await line(CONNECTED);
    await moving(clock, servers.stop());
    assert.equal(server.goodbyes, 1);
  });

  it("may redirect to another path of its own", async (t) => {
    const server = await startHttpServer(t);
    const { line } = await scene(t, { docs: { url: server.url.replace("/mcp", "/moved") } });
    await line(CONNECTED);
  });

  it("does not redirect headers to another server", async (t) => {
    const seen: unknown[] = [];
    const other = await listen(t, (req, res) => {
      seen.push(req.headers);
      res.end();
    });
    const first = await listen(t, (_req, res) => res.writeHead(307, { location: `${other.url}/mcp` }).end());
    const { line } = await scene(t, { docs: { url: `${first.url}/mcp`, headers: { authorization: "Bearer canary" } } });
    assert.match(String((await line(AWAY)).fields["reason"]), /Redirect to .* not followed/);
    assert.deepEqual(seen, []);
  });

  const refusals: [what: string, status: number, body: string, reason: RegExp][] = [
    ["wants another credential", 401, "no Bearer canary-1 of /mcp/canary-path", /no \*\*\* of \*\*\*$/],
    ["breaks", 500, "<b>oops</b>\n[[markers]]", /oops/],
    ["speaks something else", 200, "<html>", /Unexpected content type/],
  ];
  for (const [what, status, body, reason] of refusals) {
    it(`that ${what} is logged with the reason, in one line without secrets`, async (t) => {
      const { url } = await listen(t, (_req, res) => res.writeHead(status, { "content-type": "text/html" }).end(body));
      const { line, lines } = await scene(t, {
        docs: { url: `${url}/mcp/canary-path`, headers: { authorization: "Bearer canary-1" } },
      });
      const { fields, message } = await line(AWAY);
      assert.match(String(fields["reason"]), reason);
      assert.match(message, /check url, headers and transport of mcp\.servers\.docs$/);
      assert.doesNotMatch(JSON.stringify(lines), /canary|<|\\n/);
    });
  }

  it("with a closed port is logged with the cause", async (t) => {
    const { line } = await scene(t, { docs: { url: "http://127.0.0.1:1/mcp" } });
    assert.match(String((await line(AWAY)).fields["reason"]), /ECONNREFUSED|bad port/);
  });

  it("whose response never ends is disconnected", async (t) => {
    const { url } = await listen(t, (_req, res) => {
      res.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (res.write(" ".repeat(1_000_000)));
      };
      res.on("drain", more);
      more();
    });
    const { line } = await scene(t, { docs: { url } });
    assert.match(String((await line(AWAY)).fields["reason"]), /more than 10485760 bytes/);
  });
});

describe("fetching from a server", () => {
  const reply = (body: string, type: string) => async () => new Response(body, { headers: { "content-type": type } });
  const cases: [what: string, body: string, type: string, fits: boolean][] = [
    ["a short answer", "x".repeat(20), "application/json", true],
    ["a long answer", "x".repeat(21), "application/json", false],
    ["many short events", "data: x\n\n".repeat(10), "text/event-stream", true],
    ["many short events of Windows", "data: x\r\n\r\n".repeat(10), "text/event-stream; charset=utf-8", true],
    ["a long event of short lines", "data: x\n".repeat(5), "text/event-stream", false],
    ["a long answer of blank lines", "\n".repeat(21), "application/json", false],
  ];
  for (const [what, body, type, fits] of cases) {
    it(`${fits ? "accepts" : "refuses"} ${what}`, async () => {
      const { fetch } = createBoundedFetch(createFakeClock(), { fetch: reply(body, type), maxBytes: 20 });
      const response = await fetch("http://x/", { method: "POST" });
      if (fits) assert.equal(await response.text(), body);
      else await assert.rejects(response.text(), /more than 20 bytes/);
    });
  }

  it("opens at most one stream a second, and none once closed", async () => {
    const clock = createFakeClock();
    let opened = 0;
    const { fetch, close } = createBoundedFetch(clock, { fetch: async () => new Response(String((opened += 1))) });
    await fetch("http://x/");
    const second = fetch("http://x/");
    await clock.advance(999);
    assert.equal(opened, 1);
    await clock.advance(1);
    await second;
    await fetch("http://x/", { method: "POST" });
    assert.equal(opened, 3);
    const third = fetch("http://x/");
    close();
    await clock.advance(1_000);
    assert.deepEqual([(await third).status, (await fetch("http://x/")).status, opened], [405, 405, 3]);
  });
});

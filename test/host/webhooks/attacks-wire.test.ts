/** Senders of webhooks that violate HTTP, or use its edge cases. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { config } from "@svc/sdk/config";
import { FailureLimiter, HOOK_LIMITER } from "../../../host/auth/failure-limiter.ts";
import { proxyPolicy } from "../../../host/auth/client-address.ts";
import { systemClock } from "../../../host/clock.ts";
import { HookBus } from "../../../host/hooks/hook-bus.ts";
import { Kinds } from "../../../host/kernel/kernel-hooks.ts";
import { KINDS } from "../../../host/kernel/kinds/index.ts";
import { buildCatalogue } from "../../../host/webhooks/catalogue.ts";
import { HookAttempts } from "../../../host/webhooks/credential.ts";
import { Ingress } from "../../../host/webhooks/ingress.ts";
import { webhookSettings } from "../../../host/webhooks/settings.ts";
import { Verdicts } from "../../../host/webhooks/verdicts.ts";
import { silent } from "../../plugins/webhooks/transforms/scene.ts";
import { sendRaw, statusesOf } from "./raw-request.ts";
import { TOKEN, webhookGateway } from "./webhook-gateway.ts";

const BODY = '{"text":"hello"}';

/** A valid request for `note` that closes its connection; each case changes some of its lines. */
function request(changes: { line?: string; headers?: readonly string[]; body?: string } = {}): string {
  const { line = "POST /hooks/note HTTP/1.1", body = BODY } = changes;
  const headers = changes.headers ?? [
    `Authorization: Bearer ${TOKEN}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  return `${[line, "Host: localhost", ...headers, "", ""].join("\r\n")}${body}`;
}
const right = [`Authorization: Bearer ${TOKEN}`, "Connection: close"];

describe("malformed HTTP requests", { timeout: 120_000 }, () => {
  const rows: [what: string, headers: readonly string[], body: string, statuses: readonly number[]][] = [
    ["two different lengths", [...right, "Content-Length: 16", "Content-Length: 4"], BODY, [400]],
    ["the same length twice", [...right, "Content-Length: 16", "Content-Length: 16"], BODY, [400]],
    ["a list of lengths", [...right, "Content-Length: 16, 16"], BODY, [400]],
    ["a signed length", [...right, "Content-Length: +16"], BODY, [400]],
    ["a negative length", [...right, "Content-Length: -1"], BODY, [400]],
    ["a length in hexadecimal", [...right, "Content-Length: 0x10"], BODY, [400]],
    ["a length and chunks", [...right, "Content-Length: 16", "Transfer-Encoding: chunked"], "0\r\n\r\n", [400]],
    ["chunks and a length", [...right, "Transfer-Encoding: chunked", "Content-Length: 16"], "0\r\n\r\n", [400]],
    ["an unknown encoding", [...right, "Transfer-Encoding: xchunked"], "10\r\n" + BODY + "\r\n0\r\n\r\n", [400]],
    [
      "chunked encoding that is not last",
      [...right, "Transfer-Encoding: chunked, identity"],
      "10\r\n" + BODY + "\r\n0\r\n\r\n",
      [400],
    ],
    ["a space before the colon", [...right, "Transfer-Encoding : chunked"], "0\r\n\r\n", [400]],
    ["a folded header", [...right, "Transfer-Encoding:\r\n chunked"], "0\r\n\r\n", [400]],
    ["a chunk with an invalid size", [...right, "Transfer-Encoding: chunked"], "zz\r\nx\r\n0\r\n\r\n", [400]],
    ["a chunk with an excessive size", [...right, "Transfer-Encoding: chunked"], `${"f".repeat(40)}\r\nx`, [400, 413]],
    ["an empty body", [...right, "Content-Length: 0"], "", [400]],
    ["no length at all", right, "", [400]],
    ["another expectation", [...right, "Content-Length: 16", "Expect: nothing-good"], BODY, [417]],
    ["two hosts", [...right, "Host: other", "Content-Length: 16"], BODY, [200, 400]],
  ];
  for (const [what, headers, body, statuses] of rows) {
    it(`${what}: ${statuses.join(" or ")}`, async (t) => {
      const { gateway, notes } = await webhookGateway(t);
      const answers = statusesOf(await sendRaw(gateway.port, [request({ headers, body })]));
      assert.equal(answers.length, 1);
      assert.ok(statuses.includes(answers[0] ?? 0), String(answers));
      assert.equal(notes.length, answers[0] === 200 ? 1 : 0);
    });
  }

  it("an expectation of 100 is met, and the credential still checked", async (t) => {
    const { gateway, notes } = await webhookGateway(t);
    const expecting = (token: string) =>
      request({
        headers: [`Authorization: Bearer ${token}`, "Connection: close", "Content-Length: 16", "Expect: 100-continue"],
      });
    assert.deepEqual(statusesOf(await sendRaw(gateway.port, [expecting(TOKEN)])), [100, 200]);
    assert.equal(statusesOf(await sendRaw(gateway.port, [expecting("wrong")])).at(-1), 401);
    assert.equal(notes.length, 1);
  });

  it("HTTP/1.0 is answered and closed", async (t) => {
    const { gateway, notes } = await webhookGateway(t);
    const line = "POST /hooks/note HTTP/1.0";
    const headers = [`Authorization: Bearer ${TOKEN}`, "Content-Length: 16"];
    assert.deepEqual(statusesOf(await sendRaw(gateway.port, [request({ line, headers })])), [200]);
    assert.equal(notes.length, 1);
  });

  it("pipelined requests are answered one by one, in order", async (t) => {
    const { gateway, notes } = await webhookGateway(t);
    const open = (path: string, body = BODY) =>
      request({
        line: `POST /hooks/${path} HTTP/1.1`,
        headers: [`Authorization: Bearer ${TOKEN}`, `Content-Length: ${body.length}`],
        body,
      });
    const all = [open("note"), open("nothing"), open("note", "{"), open("note"), request()].join("");
    assert.deepEqual(statusesOf(await sendRaw(gateway.port, [all])), [200, 404, 400, 200, 200]);
    assert.equal(notes.length, 3);
  });

  it("a request inside the body of a refused one is not served", async (t) => {
    const { gateway, notes } = await webhookGateway(t);
    const inside = request();
    for (const headers of [["Authorization: Bearer wrong"], [`Authorization: Bearer ${TOKEN}`]]) {
      const outer = request({
        headers: [...headers, `Content-Length: ${inside.length}`, "Connection: close"],
        body: inside,
      });
      const cut = outer.length - inside.length;
      for (const pieces of [[outer], [outer.slice(0, cut), outer.slice(cut)]]) {
        const statuses = statusesOf(await sendRaw(gateway.port, pieces));
        assert.ok(statuses.length <= 1 && [400, 401].includes(statuses[0] ?? 401), String(statuses));
      }
    }
    assert.equal(notes.length, 0);
  });

  it("a body that ends early is not a webhook, and affects no other sender", async (t) => {
    const { gateway, notes, post } = await webhookGateway(t);
    for (const [headers, body] of [
      [[...right, "Content-Length: 100"], BODY],
      [[...right, "Transfer-Encoding: chunked"], `10\r\n${BODY}\r\n`],
    ] as const) {
      const statuses = statusesOf(await sendRaw(gateway.port, [request({ headers, body })], { end: true }));
      assert.ok(!statuses.includes(200), String(statuses));
    }
    assert.equal(notes.length, 0);
    assert.equal((await post("note", { text: "x" })).status, 200);
  });

  it("a request that arrives byte by byte is the same request", async (t) => {
    const { gateway, notes } = await webhookGateway(t);
    assert.deepEqual(statusesOf(await sendRaw(gateway.port, Array.from(request()))), [200]);
    assert.equal(notes.length, 1);
  });
});

describe("credentials on the wire", { timeout: 120_000 }, () => {
  const rows: [what: string, headers: readonly (string | Buffer)[], status: number][] = [
    ["the wrong one before the right one", ["Authorization: Bearer wrong", `Authorization: Bearer ${TOKEN}`], 401],
    ["two in x-svc-token", ["X-Svc-Token: wrong", `X-Svc-Token: ${TOKEN}`], 401],
    ["the right one twice in x-svc-token", [`X-Svc-Token: ${TOKEN}`, `X-Svc-Token: ${TOKEN}`], 401],
    ["a list in one header", [`Authorization: Bearer ${TOKEN}, Bearer ${TOKEN}`], 401],
    ["bytes outside ASCII", [Buffer.from("Authorization: Bearer \xff\xfe\x80", "latin1")], 401],
    ["the right one and a byte outside ASCII", [Buffer.from(`Authorization: Bearer ${TOKEN}\xa0x`, "latin1")], 401],
    ["the right one in another case", [`Authorization: Bearer ${TOKEN.toUpperCase()}`], 401],
    ["a prefix of it", [`Authorization: Bearer ${TOKEN.slice(0, -1)}`], 401],
    ["an extension of it", [`Authorization: Bearer ${TOKEN}x`], 401],
    ["a long one", [`Authorization: Bearer ${"x".repeat(10_000)}`], 401],
    ["another scheme", [`Authorization: Basic ${Buffer.from(`x:${TOKEN}`).toString("base64")}`], 401],
    ["only in a cookie", [`Cookie: token=${TOKEN}`], 401],
    ["only in a forwarding header", [`X-Forwarded-Authorization: Bearer ${TOKEN}`], 401],
    ["only in the body", [], 401],
  ];
  for (const [what, headers, status] of rows) {
    it(`${what}: ${status}`, async (t) => {
      const { gateway, notes } = await webhookGateway(t);
      const body = JSON.stringify({ text: "x", token: TOKEN, authorization: `Bearer ${TOKEN}` });
      const lines = [
        "POST /hooks/note HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        `Content-Length: ${body.length}`,
        ...headers,
        "",
        body,
      ];
      const bytes = Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from("\r\n")]).slice(0, -1));
      assert.deepEqual(statusesOf(await sendRaw(gateway.port, [bytes])), [status]);
      assert.equal(notes.length, 0);
    });
  }

  it("two hundred parallel guesses gain nothing over sequential ones", async (t) => {
    const { gateway, post, notes } = await webhookGateway(t);
    const guess = request({ headers: ["Authorization: Bearer wrong", "Content-Length: 16", "Connection: close"] });
    const answers = await Promise.all(Array.from({ length: 200 }, () => sendRaw(gateway.port, [guess])));
    const statuses = answers.flatMap(statusesOf);
    assert.equal(statuses.filter((status) => status === 401).length, 20);
    assert.equal(statuses.filter((status) => status === 429).length, 180);
    assert.equal((await post("note", { text: "x" })).status, 429, "nor is the right one told apart");
    assert.equal(notes.length, 0);
  });
});

describe("slow bodies", { timeout: 120_000 }, () => {
  it("408 at the deadline, and nothing is recorded", async (t) => {
    const { port, accepted } = await bareIngress(t, 50);
    const begun = request({ headers: [`Authorization: Bearer ${TOKEN}`, "Content-Length: 16"], body: '{"te' });
    const answer = await sendRaw(port, [begun]);
    assert.deepEqual(statusesOf(answer), [408]);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(answer, /\{"ok":false,"error":"request body timeout"\}$/);
    assert.equal(accepted(), 0);
  });

  it("unauthenticated senders cannot send a body at all", async (t) => {
    const { port, accepted } = await bareIngress(t, 60_000);
    const begun = request({ headers: ["Authorization: Bearer wrong", "Content-Length: 100000"], body: "{" });
    const answer = await sendRaw(port, [begun]);
    assert.deepEqual(statusesOf(answer), [401]);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.equal(accepted(), 0);
  });

  for (const [what, raw, statuses] of [
    ["its token was replaced", '{ hooks: { token: "another-token-of-the-test" } }', [401]],
    ["webhooks were disabled", "{ hooks: { enabled: false } }", [401, 404]],
  ] as const) {
    it(`${what} while the body arrived: it is refused`, async (t) => {
      const { gateway, client, notes, origin } = await fileScene(t);
      const sending = await begin(gateway.port);
      const { hash } = await client.call(config.get, {});
      await client.call(config.patch, { raw, baseHash: hash });
      const status = statusesOf(await sending(BODY)).at(-1) ?? 0;
      assert.ok((statuses as readonly number[]).includes(status), String(status));
      const headers = { authorization: `Bearer ${TOKEN}` };
      const later = await fetch(`${origin}/hooks/note`, { method: "POST", body: BODY, headers });
      assert.ok((statuses as readonly number[]).includes(later.status), String(later.status));
      assert.equal(notes.length, 0);
    });
  }

  it("another change of the configuration does not affect it", async (t) => {
    const { gateway, client, notes } = await fileScene(t);
    const sending = await begin(gateway.port);
    const { hash } = await client.call(config.get, {});
    await client.call(config.patch, { raw: '{ hooks: { defaultSessionKey: "hook:x" } }', baseHash: hash });
    assert.equal(statusesOf(await sending(BODY)).at(-1), 200);
    assert.equal(notes.length, 1);
  });
});

/** Webhooks with a configuration file that can be changed. */
async function fileScene(t: TestContext) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-attacks-"));
  await writeFile(join(stateDir, "svc.json"), JSON.stringify({ hooks: { enabled: true, token: TOKEN } }));
  const running = await webhookGateway(t, { stateDir, plugins: ["config"], gateway: { config: undefined } });
  t.after(() => rm(stateDir, { recursive: true, force: true })); // after the gateway was stopped
  return running;
}

/** Sends all except the body, and resolves when the gateway waits for it. @returns sends the body and returns all responses */
function begin(port: number): Promise<(body: string) => Promise<string>> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const closed = new Promise<string>((done) => socket.on("close", () => done(text)));
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.startsWith("HTTP/1.1 100 ")) return;
      resolve((body) => {
        socket.write(body);
        return closed;
      });
    });
    const headers = [`Authorization: Bearer ${TOKEN}`, `Content-Length: ${BODY.length}`, "Connection: close"];
    socket.write(request({ headers: [...headers, "Expect: 100-continue"], body: "" }));
  });
}

/** An ingress on a separate port, with a faster clock. */
async function bareIngress(t: TestContext, bodyTimeoutMs: number): Promise<{ port: number; accepted(): number }> {
  let accepted = 0;
  const hooks = new HookBus();
  const facts = { gatewayToken: undefined, isLocal: true, configDir: "/nowhere" };
  const { settings } = webhookSettings({ enabled: true, token: TOKEN }, facts);
  const catalogue = buildCatalogue(settings, new Kinds(hooks, KINDS), () => undefined);
  const ingress = new Ingress({
    engine: {
      catalogue: () => catalogue,
      verdicts: (incoming) => new Verdicts(incoming, catalogue, 0),
      accept: async () => {
        accepted++;
        return undefined;
      },
    },
    recording: { run: async () => undefined },
    attempts: new HookAttempts(new FailureLimiter(HOOK_LIMITER, systemClock)),
    early: () => undefined,
    log: silent,
    aliases: () => [],
    proxies: () => proxyPolicy({}),
    bodyTimeoutMs,
  });
  const server = createServer((incoming, response) => void ingress.handle(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, accepted: () => accepted };
}

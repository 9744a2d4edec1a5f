/** Every row of the status table of http/webhooks.md §12, and the order of the checks of §2. */
import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { describe, it } from "node:test";
import { exchange } from "../net/http-exchange.ts";
import { TOKEN, webhookGateway } from "./webhook-gateway.ts";

const JSON_TYPE = /^application\/json/;
const TEXT_TYPE = /^text\/plain/;

describe("webhook requests", () => {
  it("are not served while hooks.enabled is not true", async (t) => {
    const { post } = await webhookGateway(t, { hooks: { enabled: false } });
    assert.equal((await post("note", { text: "hi" })).status, 404);
  });

  it("200: an action that completes with its record", async (t) => {
    const { post, notes } = await webhookGateway(t);
    const response = await post("note", { text: " hello " });
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", JSON_TYPE);
    const body = (await response.json()) as { runId: string };
    assert.deepEqual(body, { ok: true, runId: body.runId, mode: "now" });
    assert.match(body.runId, /^[0-9a-f-]{36}$/);
    assert.equal(notes[0]?.runId, body.runId);
    assert.match(String(notes[0]?.params["text"]), /hello/);
  });

  it("200: an action that runs in the background", async (t) => {
    const { post, ended, tasks } = await webhookGateway(t);
    const { runId } = (await (await post("task", { message: "do it" })).json()) as { runId: string };
    assert.equal((await ended(runId)).status, "done");
    assert.equal(tasks.length, 1);
    assert.match(String(tasks[0]?.params["sessionKey"]), /^hook:/);
  });

  it("the token may be in either header, and a blank bearer counts as missing", async (t) => {
    const { origin } = await webhookGateway(t, { config: { gateway: { aliases: ["acme"] } } });
    const send = (headers: Record<string, string>) =>
      fetch(`${origin}/hooks/note`, { method: "POST", body: '{"text":"x"}', headers });
    for (const headers of [
      { authorization: `Bearer ${TOKEN}` },
      { authorization: `bEARER   ${TOKEN}` },
      { "x-svc-token": TOKEN },
      { "x-acme-token": TOKEN },
      { authorization: "Bearer  ", "x-svc-token": TOKEN },
    ])
      assert.equal((await send(headers)).status, 200, JSON.stringify(headers));
    assert.equal((await send({ authorization: "Bearer wrong", "x-svc-token": TOKEN })).status, 401);
    assert.equal((await send({ authorization: `Basic ${TOKEN}` })).status, 401);
    assert.equal((await send({ "x-other-token": TOKEN })).status, 401);
    assert.equal((await send({})).status, 401);
  });

  it("400 as text: a token in the query, even in an otherwise valid request", async (t) => {
    const { post } = await webhookGateway(t);
    for (const path of ["note?token=", "note?token=abc", "note?a=1&token=x", "?token=1", "note?a=1?b&token=x"]) {
      const response = await post(path, { text: "x" });
      assert.equal(response.status, 400, path);
      assert.match(response.headers.get("content-type") ?? "", TEXT_TYPE);
      assert.match(await response.text(), /Authorization: Bearer .*x-svc-token/);
    }
  });

  it("401 before the method and the path are checked", async (t) => {
    const { origin } = await webhookGateway(t);
    for (const [method, path] of [
      ["GET", "/hooks"],
      ["GET", "/hooks/note"],
      ["DELETE", "/hooks/nothing"],
      ["POST", "/hooks/nothing"],
      ["POST", "/hooks/"],
      ["GET", "/hooks/runs/1"],
    ] as const) {
      const response = await fetch(`${origin}${path}`, { method });
      assert.equal(response.status, 401, `${method} ${path}`);
      assert.equal(await response.text(), "Unauthorized");
      assert.match(response.headers.get("content-type") ?? "", TEXT_TYPE);
    }
  });

  it("405 as text with Allow, 404 as text without a sub-path or a mapping", async (t) => {
    const { origin, post } = await webhookGateway(t);
    const headers = { authorization: `Bearer ${TOKEN}` };
    for (const method of ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"]) {
      const response = await fetch(`${origin}/hooks/note`, { method, headers });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get("allow"), "POST");
      if (method !== "HEAD") assert.equal(await response.text(), "Method Not Allowed");
    }
    for (const path of ["", "nothing", "NOTE", "note/", "note/x", "runs/x"]) {
      const response = await post(path, { text: "x" });
      assert.equal(response.status, 404, path);
      assert.equal(await response.text(), "Not Found");
    }
  });

  const bad: [why: string, body: string, error: RegExp][] = [
    ["no JSON", "{", /JSON/],
    ["a form", "text=hi", /JSON/],
    ["an empty body", "", /^text required$/],
    ["a text", '"hi"', /^text required$/],
    ["null", "null", /^text required$/],
    ["a list", '[{"text":"x"}]', /^text required$/],
    ["a blank field", '{"text":"   "}', /^text required$/],
    ["too deep a body", `{"text":${"[".repeat(300)}${"]".repeat(300)}}`, /nested deeper than 200/],
    ["a hundred thousand brackets", "[".repeat(100_000), /nested deeper than 200/],
  ];
  for (const [why, body, error] of bad) {
    it(`400 as JSON: ${why}`, async (t) => {
      const { post, notes } = await webhookGateway(t);
      const response = await post("note", body);
      assert.equal(response.status, 400);
      assert.match(response.headers.get("content-type") ?? "", JSON_TYPE);
      const answer = (await response.json()) as { ok: boolean; error: string };
      assert.equal(answer.ok, false);
      assert.match(answer.error, error);
      assert.equal(notes.length, 0);
    });
  }

  it("400 for a body that is not UTF-8; brackets inside texts count towards no depth", async (t) => {
    const { origin, post } = await webhookGateway(t);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const body = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
    assert.equal((await fetch(`${origin}/hooks/note`, { method: "POST", body, headers })).status, 400);
    assert.equal((await post("note", { text: `\\"${"[{".repeat(500)}` })).status, 200);
  });

  it("413 is delivered, and only the limit is read", async (t) => {
    const { gateway } = await webhookGateway(t, { hooks: { maxBodyBytes: 1_000 } });
    const send = (headers: Record<string, string>, body: string) =>
      exchange(gateway.port, {
        method: "POST",
        target: "/hooks/note",
        headers: { Authorization: `Bearer ${TOKEN}`, ...headers },
        body,
      });
    const announced = await send({ "Content-Length": "100000000" }, "{");
    assert.deepEqual([announced.status, announced.body], [413, '{"ok":false,"error":"payload too large"}']);
    const chunk = `${(2_000).toString(16)}\r\n${"x".repeat(2_000)}\r\n`;
    assert.equal((await send({ "Transfer-Encoding": "chunked" }, chunk)).status, 413);
  });

  it("413 stops a sender that never ends", async (t) => {
    const { gateway } = await webhookGateway(t, { hooks: { maxBodyBytes: 1_000 } });
    const status = await new Promise((resolve, reject) => {
      const sender = httpRequest(
        { port: gateway.port, path: "/hooks/note", method: "POST", headers: { authorization: `Bearer ${TOKEN}` } },
        (response) => {
          clearInterval(timer);
          response.resume();
          resolve(response.statusCode);
        },
      );
      sender.on("error", reject);
      const timer = setInterval(() => sender.destroyed || sender.write("x".repeat(10_000)), 5);
      t.after(() => (clearInterval(timer), sender.destroy()));
    });
    assert.equal(status, 413);
  });

  it("429 with Retry-After after 20 failures, the right token and the right signature included [H6.3]", async (t) => {
    const mappings = [
      { match: { path: "in" }, action: "note", textTemplate: "x", verify: { type: "odd", secret: "right" } },
    ];
    const { origin, post, notes } = await webhookGateway(t, { hooks: { mappings } });
    const wrong = () => fetch(`${origin}/hooks/note`, { method: "POST", headers: { authorization: "Bearer no" } });
    for (let failure = 1; failure <= 20; failure++) assert.equal((await wrong()).status, 401, `failure ${failure}`);
    const locked = await wrong();
    assert.equal(locked.status, 429);
    assert.equal(locked.headers.get("retry-after"), "60");
    assert.equal(await locked.text(), "Too Many Requests");
    const right = await post("note", { text: "x" });
    assert.deepEqual([right.status, right.headers.get("retry-after")], [429, "60"]);
    const signed = await fetch(`${origin}/hooks/in`, { method: "POST", body: "{}", headers: { "x-odd": "right" } });
    assert.equal(signed.status, 429);
    assert.equal(notes.length, 0);
  });

  it("a guesser behind a trusted proxy does not lock out other clients of the proxy", async (t) => {
    const { origin, post } = await webhookGateway(t, { config: { gateway: { trustedProxies: ["127.0.0.1"] } } });
    const from = (hops: string) => ({ "x-forwarded-for": hops });
    const statuses = [];
    for (let guess = 0; guess < 21; guess++) {
      const headers = { authorization: `Bearer ${guess}`, ...from(`198.51.100.${guess}, 203.0.113.7`) };
      statuses.push((await fetch(`${origin}/hooks/note`, { method: "POST", headers })).status);
    }
    assert.deepEqual([statuses[19], statuses[20]], [401, 429], "what the guesser writes itself does not count");
    assert.equal((await post("note", { text: "x" }, from("203.0.113.7"))).status, 429);
    assert.equal((await post("note", { text: "x" }, from("203.0.113.8"))).status, 200);
  });

  it("forwarding headers do not turn a guesser into another sender", async (t) => {
    const { origin } = await webhookGateway(t);
    const statuses = new Set<number>();
    for (let guess = 0; guess < 30; guess++) {
      const headers = { authorization: `Bearer ${guess}`, "x-forwarded-for": `203.0.113.${guess}` };
      statuses.add((await fetch(`${origin}/hooks/note`, { method: "POST", headers })).status);
    }
    assert.deepEqual([...statuses], [401, 429]);
  });

  it("500 with a fixed message when an action fails unexpectedly, and the gateway keeps running", async (t) => {
    const { post, recorderFails } = await failing(t);
    const response = await post("broken", {});
    assert.equal(response.status, 500);
    assert.deepEqual(await response.json(), { ok: false, error: "hook mapping failed" });
    assert.equal(recorderFails(), 1);
    assert.equal((await post("note", { text: "x" })).status, 200);
  });

  it("500 with a fixed message when commit throws, which is attributed to the plugin", async (t) => {
    const broken = definePlugin({
      id: "broken",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway.extend(WebhookAction, "broken", {
          summary: "Fails late",
          direct: true,
          fields: Type.Object({}),
          prepare: () => ({ params: {} }),
          commit: () => {
            throw new Error("a secret of the plugin");
          },
        }),
    });
    const { post, gateway } = await webhookGateway(t, { plugins: [broken] });
    const response = await post("broken");
    assert.equal(response.status, 500);
    assert.deepEqual(await response.json(), { ok: false, error: "hook mapping failed" });
    assert.equal(gateway.plugins().find(({ id }) => id === "broken")?.errors, 1);
  });

  it("the hook httpRequest runs as for every other path, and its response is sent unchanged [H10.2]", async (t) => {
    const asked: string[] = [];
    const answers: unknown[] = ["maintenance", { closed: true }, Buffer.from("bytes"), () => "no body at all"];
    const gatekeeper = definePlugin({
      id: "gatekeeper",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway.hooks.httpRequest.tap(({ path, remoteAddress }) => {
          asked.push(`${path} ${remoteAddress}`);
          return answers.length > 0 ? { status: 418, body: answers.shift() } : undefined;
        }),
    });
    const config = { gateway: { trustedProxies: ["127.0.0.1"] } };
    const { post } = await webhookGateway(t, { plugins: [gatekeeper], config });
    const send = () => post("note", { text: "x" }, { "x-forwarded-for": "203.0.113.7" });
    const [text, json, bytes, broken, last] = [await send(), await send(), await send(), await send(), await send()];
    assert.deepEqual([text.status, await text.text()], [418, "maintenance"]);
    assert.deepEqual([json.status, await json.json()], [418, { closed: true }]);
    assert.equal(await bytes.text(), "bytes");
    assert.equal(broken.status, 500, "what cannot be sent costs its request");
    assert.equal(last.status, 200);
    assert.equal(asked[0], "/hooks/note 203.0.113.7");
  });

  it("501 names the action that no plugin has", async (t) => {
    const mappings = [{ match: { path: "t" }, action: "ticket", title: "{{title}}" }];
    const { post } = await webhookGateway(t, { hooks: { mappings } });
    const response = await post("t", { title: "x" });
    assert.equal(response.status, 501);
    assert.match(((await response.json()) as { error: string }).error, /no plugin here has the action "ticket"/);
  });

  it("501 names the bundled plugin that has the action", async (t) => {
    const { post } = await webhookGateway(t);
    const response = await post("wake", { text: "x" });
    assert.equal(response.status, 501);
    assert.match(((await response.json()) as { error: string }).error, /plugin webhook-wake, which is disabled/);
  });

  it("503 while the plugin of the action waits for its next start", async (t) => {
    const waiting = definePlugin({
      id: "waiting",
      api: "^1.0.0",
      setup(gateway) {
        gateway.extend(WebhookAction, "later", {
          summary: "Comes back by itself",
          direct: true,
          fields: Type.Object({}),
          prepare: () => ({ params: {} }),
          commit: () => [],
        });
        gateway.start(() => notReady("the database is away", 30_000));
      },
    });
    const mappings = [{ match: { path: "m" }, action: "later" }];
    const { post } = await webhookGateway(t, { plugins: [waiting], hooks: { mappings } });
    for (const path of ["later", "m"]) {
      const response = await post(path);
      assert.equal(response.status, 503, path);
      assert.ok(Number(response.headers.get("retry-after")) > 20, path);
      assert.match(((await response.json()) as { error: string }).error, /plugin waiting, which is pending/);
    }
  });

  it("503 while nothing can be stored", async (t) => {
    const { post } = await noStorage(t);
    const response = await post("note", { text: "x" });
    assert.equal(response.status, 503);
    assert.ok(Number(response.headers.get("retry-after")) > 0);
    assert.match(((await response.json()) as { error: string }).error, /no running plugin provides storage/);
  });

  it("503 names the plugin that would store records, and so do the warnings of the start", async (t) => {
    const { post, origin, gateway } = await noStorage(t, []);
    const next = /no running plugin records webhooks.*; add webhooks to plugins\.use/;
    assert.match(gateway.warnings.join("\n"), next);
    const headers = { authorization: `Bearer ${TOKEN}` };
    for (const response of [
      await post("note", { text: "x" }),
      await post("task", { message: "x" }),
      await fetch(`${origin}/hooks/runs/any`, { headers }),
    ]) {
      assert.equal(response.status, 503);
      assert.ok(Number(response.headers.get("retry-after")) > 0);
      assert.match(((await response.json()) as { error: string }).error, next);
    }
    assert.equal(
      (await post("note", { text: " " })).status,
      400,
      "an invalid request is refused as such, even when no plugin records",
    );
  });

  it("ambiguous paths are never a webhook", async (t) => {
    const { gateway, notes } = await webhookGateway(t);
    const paths = [
      "/hooks//note",
      "/hooks/./note",
      "/x/../hooks/note",
      "/hooks%2fnote",
      "/hooks/%2e%2e/hooks/note",
      "/hooks\\note",
    ];
    for (const path of paths) {
      const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Length": "12" };
      const { status } = await exchange(gateway.port, { method: "POST", target: path, headers, body: '{"text":"x"}' });
      assert.ok([400, 404].includes(status), `${path}: ${status}`);
    }
    assert.equal(notes.length, 0);
  });

  it("a configured base path, with and without slashes", async (t) => {
    const { origin } = await webhookGateway(t, { hooks: { path: "in/coming/" } });
    const send = (path: string) =>
      fetch(`${origin}${path}`, { method: "POST", body: '{"text":"x"}', headers: { "x-svc-token": TOKEN } });
    assert.equal((await send("/in/coming/note")).status, 200);
    assert.equal((await send("/in/comingnote")).status, 404);
    assert.equal((await send("/hooks/note")).status, 404);
  });

  it("GET runs/<id> returns the status of a run, but not its contents", async (t) => {
    const { origin, post, ended } = await webhookGateway(t);
    const { runId } = (await (await post("task", { message: "secret" })).json()) as { runId: string };
    await ended(runId);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const response = await fetch(`${origin}/hooks/runs/${runId}`, { headers });
    assert.equal(response.status, 200);
    const body = (await response.json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(body).sort(), [
      "acceptedAt",
      "attempts",
      "endedAt",
      "ok",
      "runId",
      "startedAt",
      "status",
    ]);
    assert.equal(body["status"], "done");
    const unknown = await fetch(`${origin}/hooks/runs/nothing`, { headers });
    assert.equal(unknown.status, 404);
    assert.equal((await fetch(`${origin}/hooks/runs/${runId}`)).status, 401);
  });
});

import type { TestContext } from "node:test";
import { definePlugin, notReady, Type } from "@svc/sdk";
import { WebhookAction } from "@svc/sdk/webhooks";
import { testGateway } from "@svc/sdk/testing";
import { actionsPlugin } from "./webhook-gateway.ts";

async function failing(t: TestContext) {
  let fails = 0;
  const broken = definePlugin({
    id: "broken",
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.extend(WebhookAction, "broken", {
        summary: "Fails",
        direct: true,
        fields: Type.Object({}),
        prepare: () => {
          fails++;
          throw new Error("a secret of the plugin");
        },
        commit: () => [],
      }),
  });
  const gateway = await webhookGateway(t, { plugins: [broken] });
  return { post: gateway.post, recorderFails: () => fails };
}

async function noStorage(t: TestContext, plugins = ["webhooks"]) {
  const recorder = { notes: [], tasks: [], plan: [], service: undefined };
  const { gateway } = await testGateway(t, {
    plugins: [actionsPlugin(recorder), ...plugins],
    config: { hooks: { enabled: true, token: TOKEN } },
  });
  const origin = `http://127.0.0.1:${gateway.port}`;
  const post = (path: string, body: unknown) =>
    fetch(`${origin}/hooks/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${TOKEN}` },
    });
  return { post, origin, gateway };
}

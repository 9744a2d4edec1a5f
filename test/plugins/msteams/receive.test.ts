/** The webhook: who may call it, and what happens to activities while something fails. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unavailable } from "@svc/sdk";
import { SignJWT } from "jose";
import { memoryStorage } from "../channels/memory-storage.ts";
import { until } from "../../until.ts";
import { openScene, SUITE_MS } from "./scene.ts";
import { APP, BOT, said, SECRETS, type Server } from "./server.ts";

const seconds = (offset: number) => Math.floor(Date.now() / 1_000) + offset;
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claimsOf = ({ serviceUrl }: Server) => ({
  iss: "https://api.botframework.com",
  aud: APP,
  exp: seconds(3_600),
  serviceurl: serviceUrl,
});

const signed = (server: Server, alg: string, key: Parameters<SignJWT["sign"]>[0]) =>
  new SignJWT(claimsOf(server)).setProtectedHeader({ alg, kid: "k1" }).sign(key);

describe("a request that is not from Teams", { timeout: SUITE_MS }, () => {
  const forged: [why: string, token: (server: Server) => string | Promise<string>][] = [
    ["no token", () => ""],
    ["another issuer", ({ sign }) => sign({ claims: { iss: "https://sts.windows.net/x/" } })],
    ["another audience", ({ sign }) => sign({ claims: { aud: "99999999-2222-3333-4444-555555555555" } })],
    ["an expired token", ({ sign }) => sign({ claims: { exp: seconds(-301) } })],
    ["a token without expiry", ({ sign }) => sign({ claims: { exp: undefined } })],
    ["a token of the future", ({ sign }) => sign({ claims: { nbf: seconds(301) } })],
    ["an unknown key", ({ sign }) => sign({ kid: "k9" })],
    ["another key under a known id", (server) => signed(server, "RS256", server.second.privateKey)],
    ["a key that may not sign for Teams", ({ sign }) => sign({ kid: "k3" })],
    ["another service", ({ sign }) => sign({ claims: { serviceurl: "https://smba.trafficmanager.net/amer/" } })],
    ["a token without service", ({ sign }) => sign({ claims: { serviceurl: undefined } })],
    ["no signature", (server) => `${encoded({ alg: "none", kid: "k1" })}.${encoded(claimsOf(server))}.`],
    [
      "a signature with the public key as secret",
      async (server) => {
        const jwks = (await (await fetch(`${server.url}/keys`)).json()) as { keys: [{ n: string }] };
        return signed(server, "HS256", new TextEncoder().encode(jwks.keys[0].n));
      },
    ],
  ];

  it("gets 401, and nothing of it is used", async (t) => {
    const { server, run } = await openScene(t);
    const running = await run();
    for (const [why, token] of forged)
      assert.equal((await server.post(server.activity(said("hi")), await token(server))).status, 401, why);
    const elsewhere = "https://evil.example/amer/";
    const outside = await server.sign({ claims: { serviceurl: elsewhere } });
    const body = { ...server.activity(said("hi")), serviceUrl: elsewhere };
    assert.equal((await server.post(body, outside)).status, 401, "outside serviceUrls");
    assert.equal((await server.post({ ...body, serviceUrl: server.serviceUrl }, outside)).status, 401, "other claim");
    const webchat = { ...server.activity(said("hi")), channelId: "webchat" };
    assert.equal((await server.post(webchat)).status, 401, "another network");
    assert.equal((await server.post(server.activity(said("hi")), undefined, "other")).status, 401, "another account");
    assert.deepEqual([running.messages, server.activities()], [[], []]);
    const tolerated = { exp: seconds(-200), nbf: seconds(200) };
    const token = await server.sign({ claims: tolerated });
    assert.equal((await server.post(server.activity(said("hi")), token)).status, 200);
  });
});

describe("keys", { timeout: SUITE_MS }, () => {
  it("that change are fetched again, at most once a minute", async (t) => {
    const { server, run } = await openScene(t);
    const running = await run();
    await server.delivers(said("old key"));
    server.state.keys = [{ ...server.second, kid: "k2", endorsements: ["msteams"] }];
    const token = await server.sign({ kid: "k2" });
    const post = async () => (await server.post(server.activity(said("new key")), token)).status;
    assert.deepEqual([await post(), await post()], [401, 401]);
    assert.equal(server.of(/\/keys$/).length, 1);
    const { now } = Date;
    t.mock.method(Date, "now", () => now() + 61_000);
    assert.deepEqual([await post(), await post()], [200, 200]);
    assert.equal(server.of(/\/keys$/).length, 2);
    assert.equal(running.messages.length, 3);
  });

  it("that cannot be fetched make Teams try again", async (t) => {
    const { server, run } = await openScene(t);
    const running = await run();
    server.faults.keys.push({ status: 500 }, "cut", { status: 200, body: {} });
    for (let attempt = 0; attempt < 3; attempt++)
      assert.equal((await server.post(server.activity(said("hi")))).status, 503);
    assert.equal((await server.post(server.activity(said("hi")))).status, 200);
    assert.equal(running.messages.length, 1);
  });
});

describe("an activity", { timeout: SUITE_MS }, () => {
  it("that is malformed is skipped, and the next one is read", async (t) => {
    const { server, run } = await openScene(t);
    const running = await run();
    for (const body of [[], {}, server.activity({ type: 5 }), server.activity({ ...said("x"), from: "ada" })])
      assert.equal((await server.post(body)).status, 200);
    assert.equal((await server.post("{")).status, 400);
    await server.delivers(said("next"));
    assert.equal(running.messages.map(({ text }) => text).join(), "next");
  });

  it("that the gateway refuses for now is submitted again before Teams gets its answer", async (t) => {
    let refusals = 2;
    const { server, run } = await openScene(t);
    const running = await run(() => (refusals-- > 0 ? unavailable("too many messages wait") : undefined));
    assert.equal((await server.post(server.activity(said("hi")))).status, 200);
    assert.equal(running.messages.length, 1);
  });

  it("is not acknowledged while the account does not run, or stops meanwhile", async (t) => {
    const { server, start } = await openScene(t);
    assert.equal((await server.post(server.activity(said("hi")))).status, 503);
    const running = start(() => unavailable("too many messages wait"));
    await running.reported("connected");
    const posted = server.post(server.activity(said("hi")));
    await until(() => server.of(/\/keys$/).length > 0, "the delivery");
    await running.stop();
    assert.notEqual((await posted).status, 200);
  });

  it("of another kind is acknowledged, and all gateways on the state know its conversation", async (t) => {
    const { storage } = memoryStorage();
    const { server, run } = await openScene(t, {}, storage);
    const running = await run();
    await server.delivers({ type: "installationUpdate", id: "f:1", action: "add" });
    await server.delivers({ type: "conversationUpdate", id: "f:2", membersAdded: [{ id: BOT }] });
    assert.equal(running.messages.length, 0);
    const other = await openScene(t, server.settings, storage);
    await other.send({ text: "welcome" });
    assert.deepEqual(server.heard(), ["welcome"]);
  });
});

describe("the login", { timeout: SUITE_MS }, () => {
  it("that is refused ends the run once, and shows no secret", async (t) => {
    const { server, start } = await openScene(t, { appPassword: "password-of-the-test-that-is-wrong" });
    const running = start();
    const error = await running.ended;
    assert.equal(Object(error).code, "NOT_LINKED");
    assert.match(String(error), /invalid_client, AADSTS7000215/);
    assert.doesNotMatch(String(error), SECRETS);
    assert.equal(server.of(/token$/).length, 1);
  });

  it("service that is away at the start ends the run; later, the account reports it and goes on", async (t) => {
    const { server, start, run } = await openScene(t);
    server.faults.token.push({ status: 503 });
    assert.equal(Object(await start().ended).code, "UNAVAILABLE");
    const running = await run();
    server.faults.token.push("cut", { status: 429, headers: { "retry-after": "1" } }, { status: 200, body: {} });
    await running.reported("disconnected");
    await server.delivers(said("still here"));
    assert.equal(running.messages.length, 1);
    await running.reported("connected");
    server.faults.token.push({ status: 400, body: { error: "unauthorized_client" } });
    assert.equal(Object(await running.ended).code, "NOT_LINKED");
    const states = running.reports.map(({ state }) => state);
    assert.equal(states.join(), "connecting,connected,disconnected,connected");
  });

  it("form names what is missing, and where the endpoint is", async (t) => {
    const { server, channel, call } = await openScene(t);
    const { login } = channel;
    const next = async (answers: Record<string, string>) =>
      login?.next({ accountId: "work", signal: call.signal, state: undefined, answers });
    await assert.rejects(next({ appId: "x", appPassword: "y" }), { code: "INVALID_REQUEST", message: /app id/ });
    await assert.rejects(next({ appId: APP }), { code: "INVALID_REQUEST", message: /client secret/ });
    await assert.rejects(next({ appId: APP, appPassword: "wrong" }), { code: "INVALID_REQUEST", message: /refuses/ });
    server.faults.token.push({ status: 500 });
    await assert.rejects(next({ ...server.login }), { code: "UNAVAILABLE" });
    const done = await next({ ...server.login, tenantId: " my-tenant " });
    assert.deepEqual(done?.kind === "done" && done.config, { ...server.login, tenantId: "my-tenant" });
    assert.match(done?.message ?? "", /\/plugins\/msteams\/work\/messages$/);
    assert.equal(server.of(/^POST \/my-tenant\/oauth2/).length, 1);
    const messagingEndpoint = "/plugins/msteams/default/messages";
    assert.deepEqual(await channel.probe?.(call), { ok: true, messagingEndpoint });
  });
});

// own process: it sets variables of the process and replaces http2.connect
/** `push.test`, the push service, and waking a node. Spec: protocol/methods-system.md §3; methods-node.md §2. */
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { push } from "@svc/sdk/push";
import { createFakeClock } from "@svc/sdk/testing";
import { Apns } from "../../../plugins/nodes/push/apns.ts";
import { readCredentials } from "../../../plugins/nodes/push/credentials.ts";
import { Waking } from "../../../plugins/nodes/push/waking.ts";
import { directory, put } from "../../directory.ts";
import { until } from "../../until.ts";
import { claimsOf, CREDENTIALS, KEY, pushService, setEnvironment, TOKEN } from "./push-service.ts";
import { FakeDevices, type InvokeRequest, nodeScene } from "./scene.ts";

const limited = { timeout: 120_000 };
const TOPIC = "com.example.app";

async function registered(t: TestContext, environment = "sandbox") {
  const service = await pushService(t);
  const scene = await nodeScene(t);
  const one = await scene.node({ client: { platform: "ios" }, record: { platform: "ios", displayName: "Phone" } });
  await one.event("push.apns.register", { token: TOKEN, topic: TOPIC, environment });
  return { ...service, ...scene, one };
}

describe("push.test", limited, () => {
  it("sends a message and tells what the service answered", async (t) => {
    setEnvironment(t);
    const { client, one, pushes, state } = await registered(t);
    const sent = await client.call(push.test, { nodeId: one.id });
    const facts = { tokenSuffix: TOKEN.slice(-8), topic: TOPIC, environment: "sandbox" };
    assert.deepEqual(sent, { ok: true, status: 200, apnsId: "id-1", ...facts });
    const [first] = pushes;
    assert.equal(first?.origin, "https://api.sandbox.push.apple.com");
    const { ":method": method, ":path": path, ...headers } = first?.headers ?? {};
    assert.deepEqual([method, path], ["POST", `/3/device/${TOKEN}`]);
    assert.deepEqual(
      [headers["apns-topic"], headers["apns-push-type"], headers["apns-priority"]],
      [TOPIC, "alert", "10"],
    );
    const { header, claims } = claimsOf(headers["authorization"] ?? "");
    assert.deepEqual(header, { alg: "ES256", kid: CREDENTIALS.SVC_APNS_KEY_ID });
    assert.equal(claims.iss, CREDENTIALS.SVC_APNS_TEAM_ID);
    assert.ok(Math.abs(claims.iat - Date.now() / 1_000) < 600);
    assert.deepEqual(first?.body, {
      aps: { alert: { title: "svc", body: "This is a test message of the gateway." }, sound: "default" },
    });

    state.answer = { status: 400, body: '{"reason":"BadDeviceToken\\u0000<b>"}' };
    const other = { nodeId: one.id, title: "T", body: "B", environment: "production" } as const;
    assert.deepEqual(await client.call(push.test, other), {
      ok: false,
      status: 400,
      apnsId: "id-2",
      reason: "BadDeviceTokenb",
      ...facts,
      environment: "production",
    });
    assert.equal(pushes[1]?.origin, "https://api.push.apple.com");
    assert.deepEqual(pushes[1]?.body, { aps: { alert: { title: "T", body: "B" }, sound: "default" } });
    assert.equal(pushes[1]?.headers["authorization"], headers["authorization"], "the signed token is used again");
    for (const body of ["", "no json", "[]", '{"reason":7}', "x".repeat(10_000)]) {
      state.answer = { status: 500, body };
      const { ok, status, reason } = await client.call(push.test, { nodeId: one.id });
      assert.deepEqual([ok, status, reason], [false, 500, undefined]);
    }
    assert.equal((await client.call(push.test, { nodeId: one.id })).status, 500, "still registered");
    assert.ok(!client.hello.features.methods.includes("push.test"));
  });

  it("refuses unknown nodes, nodes without registration, and missing or wrong credentials", async (t) => {
    setEnvironment(t, {});
    const { client, connect, one, node, pushes } = await registered(t);
    const ask = (nodeId: string, more: object = {}) => client.request("push.test", { nodeId, ...more });
    await assert.rejects(ask("nobody"), { code: "NOT_FOUND" });
    const other = await node();
    await assert.rejects(ask(other.id), { code: "INVALID_REQUEST", message: /no push registration/ });
    await assert.rejects(ask(one.id), { code: "INVALID_REQUEST", message: /SVC_APNS_TEAM_ID, SVC_APNS_KEY_ID/ });
    const cases: [env: Record<string, string>, message: RegExp][] = [
      [{ SVC_APNS_TEAM_ID: "T" }, /incomplete: set SVC_APNS_KEY_ID, SVC_APNS_PRIVATE_KEY or/],
      [{ ...CREDENTIALS, SVC_APNS_TEAM_ID: "  " }, /incomplete: set SVC_APNS_TEAM_ID$/],
      [{ ...CREDENTIALS, SVC_APNS_PRIVATE_KEY: "secret-but-no-key" }, /not a P-256 key/],
    ];
    for (const [env, message] of cases) {
      setEnvironment(t, env);
      await assert.rejects(ask(one.id), (error: { code: string; message: string }) => {
        assert.equal(error.code, "INVALID_REQUEST");
        assert.match(error.message, message);
        assert.ok(!error.message.includes("secret-but"));
        return true;
      });
    }
    setEnvironment(t);
    await assert.rejects(ask(one.id, { title: "x".repeat(201) }), { code: "INVALID_REQUEST", message: /title/ });
    await assert.rejects(ask(one.id, { body: "x".repeat(1_001) }), { code: "INVALID_REQUEST", message: /body/ });
    await assert.rejects(ask(one.id, { environment: "test" }), { code: "INVALID_REQUEST", message: /environment/ });
    await assert.rejects(ask(one.id, { other: 1 }), { code: "INVALID_REQUEST", message: /other/ });
    const reader = await connect({ scopes: ["operator.read"] });
    await assert.rejects(reader.call(push.test, { nodeId: one.id }), { message: "missing scope: operator.write" });
    assert.deepEqual(pushes, []);
  });

  it("a connection that breaks is UNAVAILABLE, and the log has neither the device's nor the signed token", async (t) => {
    setEnvironment(t);
    const service = await pushService(t);
    const stateDir = directory(t);
    const scene = await nodeScene(t, { gateway: { logLevel: "debug" } }, { stateDir });
    const one = await scene.node();
    await one.event("push.apns.register", { token: TOKEN, topic: TOPIC, environment: "production" });
    service.state.answer = { status: 0, breaks: true };
    await assert.rejects(scene.client.call(push.test, { nodeId: one.id }), {
      code: "UNAVAILABLE",
      message: /push service/,
    });
    service.state.answer = { status: 200 };
    await scene.client.call(push.test, { nodeId: one.id });
    await scene.gateway.stop();
    const signed = service.pushes[1]?.headers["authorization"] ?? assert.fail();
    const logs = join(stateDir, "logs");
    const texts = await Promise.all((await readdir(logs)).map((name) => readFile(join(logs, name), "utf8")));
    assert.ok(texts.join("").includes("a push message was sent"));
    for (const secret of [TOKEN, signed.slice(7), KEY.split("\n")[1] ?? "?"])
      assert.ok(!texts.join("").includes(secret));
  });
});

describe("the credentials of the push service", limited, () => {
  const pem = { SVC_APNS_TEAM_ID: "T", SVC_APNS_KEY_ID: "K" };
  it("come from a text, also on one line, or from a private file", async (t) => {
    const path = join(directory(t), "key.p8");
    put(path, KEY, 0o600);
    for (const env of [
      { ...pem, SVC_APNS_PRIVATE_KEY: KEY },
      { ...pem, SVC_APNS_PRIVATE_KEY_P8: KEY.replaceAll("\n", "\\n") },
      { ...pem, SVC_APNS_PRIVATE_KEY_PATH: path },
    ]) {
      assert.equal((await readCredentials(env))?.key.asymmetricKeyDetails?.namedCurve, "prime256v1");
    }
    assert.equal(await readCredentials({}), undefined);
    chmodSync(path, 0o644);
    const open = readCredentials({ ...pem, SVC_APNS_PRIVATE_KEY_PATH: path });
    await assert.rejects(open, { code: "INVALID_REQUEST", message: /open-to-others.*0600/ });
    const none = readCredentials({ ...pem, SVC_APNS_PRIVATE_KEY_PATH: "/no/such/file" });
    await assert.rejects(none, { code: "INVALID_REQUEST", message: /SVC_APNS_PRIVATE_KEY_PATH/ });
  });

  it("sign a token that is used for 50 minutes, or until they change", async (t) => {
    const { pushes } = await pushService(t);
    const clock = createFakeClock();
    const apns = new Apns(clock);
    const { signal } = new AbortController();
    const registration = { token: TOKEN, topic: TOPIC, environment: "production" } as const;
    const send = async (env: Record<string, string> = CREDENTIALS) => {
      const credentials = (await readCredentials(env)) ?? assert.fail();
      await apns.send(credentials, registration, { type: "background", payload: {} }, signal);
      return pushes.at(-1)?.headers["authorization"];
    };
    const first = await send();
    await clock.advance(50 * 60_000 - 1);
    assert.equal(await send(), first);
    await clock.advance(1);
    const second = await send();
    assert.notEqual(second, first);
    assert.notEqual(await send({ ...CREDENTIALS, SVC_APNS_KEY_ID: "OTHER" }), second);
    assert.deepEqual([pushes[0]?.headers["apns-push-type"], pushes[0]?.headers["apns-priority"]], ["background", "5"]);
  });

  it("a service that does not answer has 10 s", async (t) => {
    const { state, pushes } = await pushService(t);
    state.answer = { status: 0, hangs: true };
    const clock = createFakeClock();
    const credentials = (await readCredentials(CREDENTIALS)) ?? assert.fail();
    const registration = { token: TOKEN, topic: TOPIC, environment: "production" } as const;
    const { signal } = new AbortController();
    const sent = new Apns(clock).send(credentials, registration, { type: "alert", payload: {} }, signal);
    sent.catch(() => undefined);
    await until(() => pushes.length === 1, "the message");
    await clock.advance(10_000);
    await assert.rejects(sent, { code: "UNAVAILABLE", message: /10000 ms/ });
  });
});

describe("waking a node", limited, () => {
  function scene({ reaches = true } = {}) {
    const clock = createFakeClock();
    const sent: [kind: string, at: number][] = [];
    const note = (kind: string) => async () => {
      sent.push([kind, clock.elapsed()]);
      return { ok: true, status: 200 };
    };
    const stopping = new AbortController();
    const log = { info: () => undefined };
    const pushes = { reaches: async () => reaches, wake: note("wake"), nudge: note("nudge") };
    const waking = new Waking({ pushes, clock, log, stopped: stopping.signal });
    const wake = (signal?: AbortSignal) => {
      const state = { done: false, error: undefined as unknown };
      const settled = (error?: unknown) => Object.assign(state, { done: true, error });
      waking.wake("n1", signal).then(() => settled(), settled);
      return state;
    };
    return { clock, sent, waking, wake, stopping };
  }

  it("a message, 3000 ms, another one, 12000 ms, then one that the person sees", async () => {
    const { clock, sent, wake } = scene();
    const state = wake();
    await clock.advance(2_999);
    assert.deepEqual(sent, [["wake", 0]]);
    await clock.advance(1);
    assert.deepEqual(sent.at(-1), ["wake", 3_000]);
    await clock.advance(11_999);
    assert.equal(state.done, false);
    await clock.advance(1);
    assert.deepEqual([state.done, sent.at(-1)], [true, ["nudge", 15_000]]);
  });

  it("ends at once when the node connects, or without a registration", async () => {
    const { clock, sent, wake, waking } = scene();
    const state = wake();
    await clock.advance(100);
    waking.connected("other");
    await clock.advance(100);
    assert.equal(state.done, false);
    waking.connected("n1");
    await clock.advance(0);
    assert.deepEqual([state.done, sent], [true, [["wake", 0]]]);
    const without = scene({ reaches: false });
    const none = without.wake();
    await without.clock.advance(0);
    assert.deepEqual([none.done, without.sent, without.clock.pending], [true, [], 0]);
  });

  it("callers share one attempt; within 15000 ms no further first message, within 600000 ms no further visible one", async () => {
    const { clock, sent, wake } = scene();
    const states = [wake(), wake()];
    await clock.advance(15_000);
    assert.ok(states.every(({ done }) => done));
    assert.equal(sent.length, 3);
    const again = wake(); // 12000 ms after the second message
    await clock.advance(2_999);
    assert.equal(sent.length, 3, "throttled");
    await clock.advance(12_001);
    assert.deepEqual([again.done, sent.slice(3)], [true, [["wake", 18_000]]]);
    await clock.advance(600_000);
    wake();
    await clock.advance(15_000);
    assert.deepEqual(
      sent.slice(4).map(([kind]) => kind),
      ["wake", "wake", "nudge"],
    );
  });

  it("a caller that goes ends its own waiting; a stop of the plugin ends everything", async () => {
    const { clock, sent, wake, stopping } = scene();
    const caller = new AbortController();
    const [gone, stays] = [wake(caller.signal), wake()];
    await clock.advance(10);
    caller.abort(new Error("left"));
    await clock.advance(0);
    assert.deepEqual([gone.done, (gone.error as Error).message, stays.done], [true, "left", false]);
    stopping.abort();
    await clock.advance(0);
    assert.deepEqual([stays.done, sent.length, clock.pending], [true, 1, 0]);
  });

  it("node.invoke reaches a node that connects after the message; a token that ended is forgotten", async (t) => {
    setEnvironment(t);
    const { pushes, state } = await pushService(t);
    const devices = new FakeDevices();
    const scene = await nodeScene(t, {}, { devices });
    const identity = createDevice();
    const one = await scene.node({ identity });
    await one.event("push.apns.register", { token: TOKEN, topic: TOPIC, environment: "production" });
    await one.client.close();
    await until(async () => (await scene.view(identity.id))?.connected === false, "the node to go");
    const invoked = scene.invoke(identity.id, "location.get", { a: 1 });
    invoked.catch(() => undefined);
    await until(() => pushes.length === 1, "the message");
    assert.deepEqual(pushes[0]?.body, { aps: { "content-available": 1 } });
    const requests: InvokeRequest[] = [];
    const again = await scene.node({
      identity,
      onEvent: ({ event, payload }) => event === nodeInvokeRequest.name && requests.push(payload as InvokeRequest),
    });
    await until(() => requests.length === 1, "the command, right after hello-ok");
    const [{ id, command, paramsJSON } = assert.fail()] = requests;
    assert.deepEqual([command, paramsJSON], ["location.get", '{"a":1}']);
    await again.client.call(nodes.invokeResult, { id, nodeId: identity.id, ok: true, payloadJSON: "7" });
    assert.equal((await invoked).payload, 7);

    state.answer = { status: 410, body: '{"reason":"Unregistered"}' };
    await again.client.close();
    await until(async () => (await scene.view(identity.id))?.connected === false, "the node to go");
    const failing = scene.invoke(identity.id, "location.get");
    await assert.rejects(failing, (error: { code: string; details: { code: string } }) => {
      assert.deepEqual([error.code, error.details.code], ["UNAVAILABLE", "NOT_CONNECTED"]);
      return true;
    });
    await assert.rejects(scene.client.call(push.test, { nodeId: identity.id }), { message: /no push registration/ });
    const before = pushes.length;
    await assert.rejects(scene.invoke(identity.id, "location.get"), { code: "UNAVAILABLE" });
    assert.equal(pushes.length, before, "nothing is sent any more");
  });
});

/** `talk.config`, `talk.mode` and the section `talk` in a gateway. Spec: protocol/methods-talk.md. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { config } from "@svc/sdk/config";
import { secrets } from "@svc/sdk/secrets";
import { talk, talkMode } from "@svc/sdk/talk";
import { testGateway } from "@svc/sdk/testing";
import { fileGateway } from "../../conformance/file-gateway.ts";
import { connectFrame, openRaw } from "../../raw-socket.ts";
import { until } from "../../until.ts";
import { nodeScene } from "../nodes/scene.ts";

const limited = { timeout: 120_000 };
const PLUGINS = ["storage-sqlite", "sessions", "secrets", "talk", "control-panel"];
const REDACTED = "__SVC_REDACTED__";

const start = (t: TestContext, section: object, ui: object = {}) =>
  testGateway(t, { plugins: PLUGINS, config: { talk: section, ui } });

describe("talk.config", limited, () => {
  it("has only the parts with values", async (t) => {
    const { client } = await start(t, {});
    assert.deepEqual(await client.call(talk.config, {}), { config: { session: { mainKey: "main" } } });
    const { client: alone } = await testGateway(t, { plugins: ["talk"] });
    assert.deepEqual(await alone.call(talk.config, {}), { config: {} });
  });

  it("mirrors the values beside provider into it; its own values take precedence", async (t) => {
    const flat = { voiceId: "v1", voiceAliases: { me: "v2" }, modelId: "m", outputFormat: "mp3", apiKey: "flat-key" };
    const hidden = { ...flat, apiKey: REDACTED };
    const seen = async (section: object) => {
      const { client } = await start(t, section, { seamColor: "#ff8800" });
      const result = (await client.call(talk.config, {})).config;
      assert.deepEqual(result.ui, { seamColor: "#ff8800" });
      return result.talk;
    };
    assert.deepEqual(await seen(flat), { provider: "elevenlabs", providers: { elevenlabs: hidden }, ...hidden });
    assert.deepEqual(await seen({ interruptOnSpeech: false }), { interruptOnSpeech: false });
    const other = { provider: "acme", voiceId: "v1", providers: { acme: { voiceId: "own" }, spare: { modelId: "s" } } };
    assert.deepEqual(await seen(other), other);
    const more = { provider: "acme", modelId: "m", providers: { acme: { voiceId: "own" } } };
    assert.deepEqual(await seen(more), { ...more, providers: { acme: { voiceId: "own", modelId: "m" } } });
    const named = { providers: { acme: { voiceId: "own" } } };
    assert.deepEqual(await seen(named), named);
  });

  it("shows keys only to admins and to the scope operator.talk.secrets, with references resolved", async (t) => {
    process.env["SVC_TEST_TALK_KEY"] = "key-of-the-environment";
    t.after(() => delete process.env["SVC_TEST_TALK_KEY"]);
    const reference = { source: "env", id: "SVC_TEST_TALK_KEY" };
    const { connect, client } = await start(t, { apiKey: "flat-key", providers: { acme: { apiKey: reference } } });
    const shown = {
      provider: "elevenlabs",
      providers: { acme: { apiKey: "key-of-the-environment" }, elevenlabs: { apiKey: "flat-key" } },
      apiKey: "flat-key",
    };
    assert.deepEqual((await client.call(talk.config, { includeSecrets: true })).config.talk, shown);
    const reader = await connect({ scopes: ["operator.read", "operator.talk.secrets"] });
    assert.deepEqual((await reader.call(talk.config, { includeSecrets: true })).config.talk, shown);
    for (const scopes of [["operator.read"], ["operator.read", "operator.write", "operator.approvals"]]) {
      const refused = (await connect({ scopes })).call(talk.config, { includeSecrets: true });
      await assert.rejects(refused, (error: { code: string; message: string; details: object }) => {
        assert.deepEqual([error.code, error.message], ["INVALID_REQUEST", "missing scope: operator.talk.secrets"]);
        const { code, scope } = error.details as { code: string; scope: string };
        assert.deepEqual([code, scope], ["MISSING_SCOPE", "operator.talk.secrets"]);
        return true;
      });
    }
    assert.ok(!JSON.stringify(await client.call(talk.config, {})).includes("key-of"));
    const only = (await connect({ scopes: ["operator.talk.secrets"] })).call(talk.config, {});
    await assert.rejects(only, { message: "missing scope: operator.read" });
  });

  it("names a reference without a value, and the plugin that would resolve it", async (t) => {
    const section = { apiKey: { source: "env", id: "SVC_TEST_NO_SUCH_KEY" } };
    const { client } = await start(t, section);
    await assert.rejects(client.call(talk.config, { includeSecrets: true }), {
      code: "UNAVAILABLE",
      message: /SVC_TEST_NO_SUCH_KEY|talk\.apiKey/,
    });
    const { client: without } = await testGateway(t, { plugins: ["talk"], config: { talk: section } });
    await assert.rejects(without.call(talk.config, { includeSecrets: true }), { message: /plugins why secrets/ });
  });

  it("the keys are secret targets; unknown keys are refused by name, and those of the panel have no effect", async (t) => {
    const section = { apiKey: "flat-key", providers: { acme: { apiKey: "acme-key" } } };
    const { client } = await start(t, section);
    const params = { commandName: "test", targetIds: ["talk.apiKey", "talk.providers.*.apiKey"] };
    const { assignments } = await client.call(secrets.resolve, params);
    assert.deepEqual(assignments.map(({ value }) => String(value)).toSorted(), ["acme-key", "flat-key"]);
    await assert.rejects(start(t, { voice: "x" }), /talk: unexpected property 'voice'/);
    await assert.rejects(
      start(t, { providers: { acme: { token: "x" } } }),
      /talk\.providers\.acme: unexpected property 'token'/,
    );
    await assert.rejects(start(t, {}, { seamColor: "red" }), /ui\.seamColor/);
    await start(t, {}, { seamColor: "FF8800", assistant: { name: "Ada", avatar: "A" } });
  });

  it("a change of the file has an effect at once, and the plugin keeps running", async (t) => {
    const { client, stateDir, gateway } = await fileGateway(t, "{}", { plugins: [...PLUGINS, "config"] });
    await client.call(talk.config, {});
    const before = gateway.plugins().find(({ id }) => id === "talk");
    await writeFile(
      join(stateDir, "svc.json"),
      JSON.stringify({ talk: { voiceId: "v9" }, ui: { seamColor: "123456" } }),
    );
    await until(async () => (await client.call(talk.config, {})).config.talk?.voiceId === "v9", "the change");
    assert.equal((await client.call(talk.config, {})).config.ui?.seamColor, "123456");
    const after = gateway.plugins().find(({ id }) => id === "talk");
    assert.deepEqual([after?.state, after?.generation], [before?.state, before?.generation]);
    const { config: shown } = await client.call(config.get, {});
    assert.ok(!JSON.stringify(shown).includes("flat-key"));
  });
});

describe("talk.mode", limited, () => {
  it("tells all clients, and stores nothing", async (t) => {
    const { client, connect } = await start(t, {});
    const other = await connect({ scopes: [] });
    const told: unknown[] = [];
    other.on(talkMode, (mode) => told.push(mode));
    const seen = await client.call(talk.mode, { enabled: true, phase: "listening" });
    assert.deepEqual([seen.enabled, seen.phase, typeof seen.ts], [true, "listening", "number"]);
    const off = await client.call(talk.mode, { enabled: false });
    assert.equal(off.phase, null);
    await until(() => told.length === 2, "both events");
    assert.deepEqual(told, [seen, off]);
    assert.ok(client.hello.features.events.includes("talk.mode"));
  });

  it("names an invalid param, and needs operator.write", async (t) => {
    const { client, connect } = await start(t, {});
    for (const [params, message] of [
      [{}, /^invalid talk\.mode params: .*enabled/],
      [{ enabled: 1 }, /at \/enabled/],
      [{ enabled: true, phase: null }, /at \/phase/],
      [{ enabled: true, phase: "x".repeat(201) }, /at \/phase/],
      [{ enabled: true, other: 1 }, /^invalid talk\.mode params: at root: unexpected property 'other'$/],
    ] as const) {
      await assert.rejects(client.request("talk.mode", params), { code: "INVALID_REQUEST", message });
    }
    const reader = await connect({ scopes: ["operator.read"] });
    await assert.rejects(reader.call(talk.mode, { enabled: true }), { message: "missing scope: operator.write" });
  });

  it("a web client needs a connected phone, which is checked before the params", async (t) => {
    const scene = await nodeScene(t, { plugins: ["sessions", "talk"] });
    const { url, auth } = scene.gateway;
    const socket = await openRaw(url, { origin: "http://127.0.0.1:5173" });
    const client = { id: "webchat", mode: "webchat", version: "1", platform: "MacIntel" };
    socket.send(connectFrame(auth.token, { client }));
    await socket.next(({ id, ok }) => id === "c1" && ok === true);
    let serial = 0;
    const ask = async (params: object) => {
      const id = `m${++serial}`;
      socket.send({ type: "req", id, method: "talk.mode", params });
      return socket.next((frame) => frame.id === id);
    };
    for (const params of [{ enabled: true }, {}, { enabled: 1 }]) {
      const { error } = await ask(params);
      assert.equal(error?.code, "UNAVAILABLE");
      assert.match(error?.message ?? "", /phone/);
    }
    const desktop = await scene.node();
    assert.equal((await ask({ enabled: true })).error?.code, "UNAVAILABLE", "a desktop is no phone");
    await desktop.client.close();
    for (const platform of ["iOS 18.1", "iPadOS 18", "android 15"]) {
      const phone = await scene.node({ client: { id: "svc-ios", platform }, record: { platform } });
      assert.equal((await ask({ enabled: true })).ok, true, platform);
      assert.equal((await ask({})).error?.code, "INVALID_REQUEST");
      await phone.client.close();
      await until(async () => (await ask({})).error?.code === "UNAVAILABLE", "the phone to go");
    }
    assert.equal((await scene.client.call(talk.mode, { enabled: true })).enabled, true, "other clients need none");
  });
});

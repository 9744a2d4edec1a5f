/** The plugin `config` on a real gateway, with a real file. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type GatewayError, notFound } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";
import { config } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";

const told: string[] = [];

/** Stands for the plugin that provides sessions. */
const scribe = definePlugin({
  id: "scribe",
  api: "^1.0.0",
  setup(gateway) {
    gateway.serve(
      { inject: chat.inject },
      {
        inject({ params: { sessionKey, message } }) {
          if (sessionKey !== "s") return notFound(`no session "${sessionKey}"`);
          told.push(message);
          return { ok: true as const, messageId: "1" };
        },
      },
    );
  },
});

async function scene(t: TestContext, file: unknown, stateDir = "") {
  const directory = stateDir || mkdtempSync(join(tmpdir(), "svc-config-"));
  if (!stateDir) t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "svc.json");
  if (file !== undefined) writeFileSync(path, JSON.stringify(file));
  const restarts: string[] = [];
  const restart = { perform: (reason: string) => void restarts.push(reason) };
  const { client, gateway } = await testGateway(t, {
    plugins: ["config", scribe],
    stateDir: directory,
    gateway: { config: undefined, restart },
  });
  const read = () => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  const hash = async () => (await client.call(config.get, {})).hash;
  return { client, gateway, directory, restarts, read, hash };
}

const mode = { gateway: { reload: { mode: "off" } } };

describe("config.* on a gateway", { timeout: 120_000 }, () => {
  it("patches the file, applies it at once, and notifies the session", async (t) => {
    const { client, read, hash, restarts } = await scene(t, { ...mode, logging: { level: "warn" } });
    told.length = 0;
    const params = { raw: "{ logging: { level: 'error' } }", baseHash: await hash(), note: "quiet", sessionKey: "s" };
    const answer = await client.call(config.patch, params);
    assert.deepEqual([answer.changed, answer.restart.scheduled, restarts], [["logging.level"], false, []]);
    assert.equal(answer.hash, await hash());
    assert.deepEqual(read()["logging"] as object, { level: "error" });
    assert.deepEqual(told, ["quiet"]);
  });

  it("refuses a change based on an older file and an invalid change, and writes neither", async (t) => {
    const { client, read, hash } = await scene(t, mode);
    const before = read();
    const raw = "{ logging: { level: 'error' } }";
    await assert.rejects(client.call(config.patch, { raw, baseHash: "0".repeat(64) }), { code: "INVALID_REQUEST" });
    await assert.rejects(client.call(config.set, { raw }), { code: "INVALID_REQUEST" });
    const wrong = { raw: "{ logging: { level: 1 } }", baseHash: await hash() };
    const isTold = ({ message, details }: GatewayError) =>
      message === "invalid config" && JSON.stringify(details).includes('"path":"logging.level"');
    await assert.rejects(client.call(config.apply, wrong), isTold);
    assert.deepEqual(read(), before);
  });

  it("schedules the restart that a key needs, and notifies the session after it", async (t) => {
    const { client, hash, directory, gateway } = await scene(t, mode);
    told.length = 0;
    const raw = "{ gateway: { port: 19001 } }";
    const params = { raw, baseHash: await hash(), note: "moved", sessionKey: "s", restartDelayMs: 60_000 };
    const { restart, sentinel } = await client.call(config.patch, params);
    assert.deepEqual([restart.scheduled, restart.delayMs, restart.coalesced], [true, 60_000, false]);
    assert.equal(sentinel.path, join(directory, "restart-sentinel.json"));
    assert.deepEqual(told, []);
    await gateway.stop();
    await scene(t, undefined, directory);
    await new Promise<void>((resolve) => {
      const look = () => (told.length > 0 ? resolve() : setImmediate(look));
      look();
    });
    assert.deepEqual(told, ["moved"]);
  });

  it("returns the schema with its creation time", async (t) => {
    const { generatedAt } = await (await scene(t, mode)).client.call(config.schema, {});
    assert.equal(new Date(generatedAt).toISOString(), generatedAt);
  });

  it("limits patch and apply together, and not set", async (t) => {
    const { client, hash } = await scene(t, mode);
    const raw = JSON.stringify(mode);
    await client.call(config.patch, { raw, baseHash: await hash() });
    await client.call(config.apply, { raw, baseHash: await hash() });
    await client.call(config.patch, { raw, baseHash: await hash() });
    await assert.rejects(client.call(config.apply, { raw, baseHash: await hash() }), { code: "UNAVAILABLE" });
    assert.ok((await client.call(config.set, { raw, baseHash: await hash() })).ok);
  });
});

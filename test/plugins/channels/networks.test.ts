/** The way of a user with each network: login, pairing, a message in and a reply out, commands, and the status of a dead connection. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { channelLogin, channelPairing, channels } from "@svc/sdk/channels";
import { NETWORKS, type TestNetwork } from "./networks.ts";
import { startScene, until } from "./scene.ts";

/** A gateway with a configuration file that names the server of the network, but no login. */
async function gatewayFor(t: TestContext, { id, settings }: TestNetwork) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-network-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  const config = { agents: { defaults: { skipBootstrap: true } }, channels: { [id]: settings } };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const scene = await startScene(t, ["commands", "config", id], { stateDir, gateway: { config: undefined } });
  const account = async () => (await scene.client.call(channels.status, {})).channelAccounts[id]?.[0];
  return { ...scene, account };
}

for (const [name, start] of Object.entries(NETWORKS)) {
  describe(name, { timeout: 60_000 }, () => {
    it("is set up with a login, lets a stranger in by code, answers, obeys commands and forgets nothing", async (t) => {
      const network = await start(t);
      const { client, account, stateDir } = await gatewayFor(t, network);
      assert.deepEqual([(await account())?.configured, (await account())?.connected], [false, false]);

      const { loginId, step } = await client.call(channelLogin.start, { channel: name });
      const keys = step.fields?.map(({ key }) => key) ?? [];
      for (const key of Object.keys(network.login)) assert.ok(keys.includes(key), key);
      for (const field of step.fields ?? []) assert.ok(field.help, `${field.key} says where people find it`);
      await assert.rejects(client.call(channelLogin.next, { loginId, answers: network.wrong }), {
        code: "INVALID_REQUEST",
      });
      const done = await client.call(channelLogin.next, { loginId, answers: network.login });
      assert.equal(done.step.kind, "done");
      const written = JSON.parse(await readFile(join(stateDir, "svc.json"), "utf8")) as {
        channels: Record<string, object>;
      };
      assert.deepEqual(written.channels[name], { ...network.settings, enabled: true, ...network.login });
      await until(async () => (await account())?.connected === true, "the connection");

      network.says("hello");
      const offer = await until(() => network.heard()[0], "the code");
      const code = /[A-HJ-NP-Z2-9]{8}/.exec(offer)?.[0] ?? "";
      assert.ok(offer.includes(code) && code !== "", offer);
      await client.call(channelPairing.approve, { channel: name, code });
      await until(() => network.heard().some((text) => text.startsWith("You have access now")), "the notice");
      network.says("echo first");
      await until(() => network.heard().includes("first"), "the answer");
      network.says("/help");
      await until(() => network.heard().some((text) => text.includes("/new")), "the answer of the command");
      network.says("/nosuch");
      await until(() => network.heard().some((text) => /unknown command \/nosuch/i.test(text)), "the refusal");
      const { lastInboundAt, lastOutboundAt, lastProofAt } = (await account()) ?? {};
      assert.ok(lastInboundAt && lastOutboundAt && lastProofAt);
    });

    it("tells within 5 seconds that its connection is dead", async (t) => {
      const network = await start(t);
      const { client, account } = await gatewayFor(t, network);
      const { loginId } = await client.call(channelLogin.start, { channel: name });
      await client.call(channelLogin.next, { loginId, answers: network.login });
      await until(async () => (await account())?.connected === true, "the connection");
      network.falls();
      const fell = performance.now();
      await until(async () => (await account())?.connected === false, "the disconnect");
      assert.ok(performance.now() - fell < 5_000);
    });
  });
}

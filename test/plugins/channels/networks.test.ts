/** The way of a user with each network: login, pairing, messages, commands, approvals, files, and the status of a dead connection. */
// own process: some networks start programs
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { execApproval } from "@svc/sdk/approvals";
import { channelPairing, channels, webLogin } from "@svc/sdk/channels";
import { NETWORKS } from "./networks.ts";
import { startScene, until } from "./scene.ts";
import { logIn, type TestNetwork } from "./test-network.ts";

/** A gateway with a configuration file that names the server of the network, but no login. @param more further settings */
async function gatewayFor(t: TestContext, plugin: string, network: TestNetwork, more: object = {}) {
  const { id, settings, person, plugins = [plugin] } = network;
  const stateDir = await mkdtemp(join(tmpdir(), "svc-network-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  const exec = { enabled: true, approvers: [`${id}:${person}`] };
  const config = {
    agents: { defaults: { skipBootstrap: true } },
    approvals: { exec },
    channels: { [id]: { ...settings, ...more } },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const scene = await startScene(t, ["commands", "config", "approvals", ...plugins], {
    stateDir,
    gateway: { config: undefined },
  });
  const http = `http://127.0.0.1:${scene.gateway.port}`;
  network.meets?.(http);
  const account = async () => (await scene.client.call(channels.status, {})).channelAccounts[id]?.[0];
  return { ...scene, http, account };
}

/** A gateway whose account is connected, and in which the person may write. */
async function connectedTo(t: TestContext, plugin: string, network: TestNetwork) {
  const own = network.keepsLogin ? {} : (network.written ?? network.login);
  const scene = await gatewayFor(t, plugin, network, { ...own, allowFrom: [network.person] });
  if (network.keepsLogin) await logIn(scene.client, network, network.login);
  await until(async () => (await scene.account())?.connected === true, "the connection");
  return scene;
}

for (const [name, start] of Object.entries(NETWORKS)) {
  describe(name, { timeout: 300_000 }, () => {
    it("is set up with a login, lets a stranger in by code, answers, obeys commands and forgets nothing", async (t) => {
      const network = await start(t);
      const { client, account, stateDir } = await gatewayFor(t, name, network);
      assert.deepEqual([(await account())?.configured, (await account())?.connected], [false, false]);

      await assert.rejects(logIn(client, network, network.wrong), { code: "INVALID_REQUEST" });
      const { asked } = await logIn(client, network, network.login);
      for (const key of Object.keys(network.login)) assert.ok(asked.includes(key), key);
      const file = JSON.parse(await readFile(join(stateDir, "svc.json"), "utf8")) as {
        channels: Record<string, object>;
      };
      const written = network.written ?? network.login;
      assert.deepEqual(file.channels[network.id], { ...network.settings, enabled: true, ...written });
      await until(async () => (await account())?.connected === true, "the connection");

      network.says("hello");
      const offer = await until(() => network.heard()[0], "the code");
      const code = /[A-HJ-NP-Z2-9]{8}/.exec(offer)?.[0] ?? "";
      assert.ok(offer.includes(code) && code !== "", offer);
      await client.call(channelPairing.approve, { channel: network.id, code });
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

    it("logs in with web.login, where the network shows a code", async (t) => {
      const network = await start(t);
      if (!network.scans) return;
      const { client, account } = await gatewayFor(t, name, network, network.login);
      const { qrDataUrl = "" } = await client.call(webLogin.start, {});
      assert.match(qrDataUrl, /^data:image\/svg\+xml;base64,/);
      const waiting = client.call(webLogin.wait, {});
      await network.scans(qrDataUrl);
      assert.equal((await waiting).connected, true);
      await until(async () => (await account())?.connected === true, "the connection");
    });

    it("takes an approval by a button, or by a command where the network has no buttons", async (t) => {
      const network = await start(t);
      const { client, http } = await connectedTo(t, name, network);
      network.says("echo ready");
      await until(() => network.heard().includes("ready"), "the session");
      const decided = client.call(execApproval.request, {
        command: "rm -rf build",
        sessionKey: network.sessionKey ?? "agent:main:main",
        agentId: "main",
        timeoutMs: 30_000,
      });
      const question = await until(
        () => network.heard().find((text) => text.includes("Approval needed")),
        "the question",
      );
      if (network.presses) await network.presses("Allow once", http);
      else network.says(/\/approve \S+ allow-once/.exec(question)?.[0] ?? question);
      assert.equal((await decided).decision, "allow-once");
      await until(() => network.heard().some((text) => text.startsWith("Allowed once by")), "the outcome");
    });

    it("tells the agent that a file is too large", async (t) => {
      const network = await start(t);
      if (!network.sends) return;
      await connectedTo(t, name, network);
      network.sends("echo see", 25_000_000);
      const answer = await until(() => network.heard().find((text) => text.includes("are accepted")), "the answer");
      assert.match(answer, /big\.bin: not available: it has 25 MB, at most 20 MB are accepted/);
    });

    it("tells soon that the network is silent", async (t) => {
      const network = await start(t);
      if (!network.falls) return;
      const { account } = await connectedTo(t, name, network);
      network.falls();
      const fell = performance.now();
      await until(async () => (await account())?.connected === false, "the disconnect", network.silentMs);
      assert.ok(performance.now() - fell < (network.silentMs ?? 5_000));
    });
  });
}

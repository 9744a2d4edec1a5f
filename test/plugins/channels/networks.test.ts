/** The way of a user with each network: login, pairing, messages, commands, buttons, files, and the status of a dead connection. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { execApproval } from "@svc/sdk/approvals";
import { channelLogin, channelPairing, channels } from "@svc/sdk/channels";
import { NETWORKS, type TestNetwork } from "./networks.ts";
import { startScene, until } from "./scene.ts";

/** A gateway with a configuration file that names the server of the network, but no login. @param more further settings */
async function gatewayFor(t: TestContext, { id, settings, person }: TestNetwork, more: object = {}) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-network-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  const exec = { enabled: true, approvers: [`${id}:${person}`] };
  const config = {
    agents: { defaults: { skipBootstrap: true } },
    approvals: { exec },
    channels: { [id]: { ...settings, ...more } },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const scene = await startScene(t, ["commands", "config", "approvals", id], {
    stateDir,
    gateway: { config: undefined },
  });
  const account = async () => (await scene.client.call(channels.status, {})).channelAccounts[id]?.[0];
  return { ...scene, account };
}

/** A gateway whose account is connected, and in which the person may write. */
async function connectedTo(t: TestContext, network: TestNetwork) {
  const scene = await gatewayFor(t, network, { ...network.login, allowFrom: [network.person] });
  await until(async () => (await scene.account())?.connected === true, "the connection");
  return scene;
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

    it("takes an approval by a button", async (t) => {
      const network = await start(t);
      const { client, gateway } = await connectedTo(t, network);
      network.says("echo ready");
      await until(() => network.heard().includes("ready"), "the session");
      const decided = client.call(execApproval.request, {
        command: "rm -rf build",
        sessionKey: "agent:main:main",
        agentId: "main",
        timeoutMs: 30_000,
      });
      await until(() => network.heard().some((text) => text.includes("Approval needed")), "the question");
      await network.presses("Allow once", `http://127.0.0.1:${gateway.port}`);
      assert.equal((await decided).decision, "allow-once");
      await until(() => network.heard().some((text) => text.startsWith("Allowed once by")), "the outcome");
    });

    it("tells the agent that a file is too large", async (t) => {
      const network = await start(t);
      await connectedTo(t, network);
      network.sends("echo see", 25_000_000);
      const answer = await until(() => network.heard().find((text) => text.includes("are accepted")), "the answer");
      assert.match(answer, /big\.bin: not available: it has 25 MB, at most 20 MB are accepted/);
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

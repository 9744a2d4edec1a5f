// long: starts a chat server and installs a plugin
/** examples/community-channel-irc with a real server: conversations, restarts, long texts and refusals. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readFileSync } from "node:fs";
import { channels, outbound } from "@svc/sdk/channels";
import { connect } from "@svc/sdk/client";
import { root } from "../checkout.ts";
import { directory } from "../directory.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { home, type Running } from "../host/cli/svc.ts";
import { arrive, startNgircd, withoutNgircd } from "../ngircd.ts";
import { until } from "../plugins/channels/scene.ts";
import { publishDependencies } from "../registry-tree.ts";
import { startRegistry } from "../registry.ts";
import { treeLines } from "../tree-hash.ts";

const EXAMPLE = join(root, "examples/community-channel-irc");
const PASSWORD = "server-pass-1";

async function stateDirectory(t: TestContext, irc: object): Promise<string> {
  const state = join(directory(t), "state");
  await mkdir(state, { mode: 0o700 });
  const config = {
    plugins: { load: { paths: [EXAMPLE] } },
    agents: { defaults: { skipBootstrap: true } },
    channels: { irc: { host: "127.0.0.1", tls: false, nick: "bot", lineIntervalMs: 0, ...irc } },
  };
  await writeFile(join(state, "svc.json"), JSON.stringify(config));
  return state;
}

await import("../../examples/community-channel-irc/test/translate.test.ts"); // its own tests run here, too

describe("examples/community-channel-irc", { timeout: 360_000, skip: withoutNgircd() }, () => {
  it("is installed from a registry, talks to people on a real server through restarts, and leaves without a trace", async (t) => {
    const server = await startNgircd(t, PASSWORD);
    const registry = await startRegistry(t);
    await Promise.all([registry.publish(EXAMPLE), publishDependencies(registry, EXAMPLE)]);
    const at = home(t, { agents: { defaults: { skipBootstrap: true } } });
    const svc = async (...args: string[]) => {
      const { code, stdout, stderr } = await at.svc(args, registry.env);
      assert.equal(code, 0, `svc ${args.join(" ")}: ${stdout}${stderr}`);
      return stdout;
    };
    const open = ({ ready }: Running) =>
      connect({ url: ready.url, token: readFileSync(join(at.stateDir, "credentials/gateway-token"), "utf8").trim() });
    const first = await at.run();
    let client = await open(first);
    const extensions = () => treeLines(join(at.stateDir, "extensions"));
    const before = {
      config: readFileSync(at.configPath, "utf8"),
      private: treeLines(join(at.stateDir, "plugins/irc")),
    };

    await svc("plugins", "install", "svc-channel-irc", "--yes");
    assert.ok(extensions().length > 50);
    const settings = {
      host: "127.0.0.1",
      port: server.port,
      tls: false,
      nick: "bot",
      password: PASSWORD,
      channels: ["#Team"],
      dmPolicy: "allowlist",
      allowFrom: ["ann!~ann@127.0.0.1"],
      lineIntervalMs: 0,
    };
    // The login is tried before it is written.
    const at0 = `host=irc://127.0.0.1:${server.port}`;
    const login = (password: string) =>
      svc("channels", "add", "irc", "--set", at0, "--set", "nick=bot", "--set", `password=${password}`);
    await assert.rejects(login("wrong"), /password/i);
    assert.match(
      await login(PASSWORD),
      /^Connected to 127\.0\.0\.1 as bot\nWritten: channels\.irc\nirc is connected\./,
    );
    // Nothing of the former server goes to the next one.
    const old = {
      host: "irc.old.example",
      port: 7_000,
      tlsVerify: false,
      realname: "A bot",
      sasl: { account: "a", password: "b" },
    };
    await svc("config", "set", "channels.irc", JSON.stringify({ ...old, enabled: false }));
    await svc("channels", "login", "irc", "--set", at0, "--set", "nick=bot", "--set", `password=${PASSWORD}`);
    const written = JSON.parse(await svc("config", "get", "channels.irc", "--json")) as { password?: string };
    assert.deepEqual(
      { ...written, password: PASSWORD },
      {
        enabled: true,
        host: "127.0.0.1",
        port: server.port,
        tls: false,
        tlsVerify: true,
        nick: "bot",
        realname: "A bot",
        password: PASSWORD,
      },
    );
    await svc("config", "set", "channels.irc", JSON.stringify(settings));
    const account = async () => (await client.call(channels.status, {})).channelAccounts["irc"]?.[0];
    const connected = () => until(async () => (await account())?.connected, "the account connected");
    await connected();
    assert.doesNotMatch(await svc("channels", "status", "--json"), new RegExp(PASSWORD));

    // In direct messages, allowed people get answers. A stranger gets none, under any nick.
    const ann = await arrive(t, server, "ann", PASSWORD);
    const mallory = await arrive(t, server, "ann_", PASSWORD);
    mallory.says("bot", "echo let me in");
    ann.says("bot", "echo \u0002hello\u0002 IRC");
    await ann.sees(/PRIVMSG ann :hello IRC$/);
    assert.equal(mallory.heard.length, 0);

    // In a channel, everyone may ask, but only with a mention. The answer goes to the channel.
    for (const person of [ann, mallory]) {
      person.write("JOIN #team");
      await person.sees(/ 366 /);
    }
    mallory.says("#team", "nobody asked the machine");
    mallory.says("#team", "bot: what are you?");
    await mallory.sees(/PRIVMSG #team :I am the offline responder/);
    const said = mallory.heard.filter((line) => line.startsWith("#team bot:"));
    assert.equal(said.filter((line) => line.includes("offline responder")).length, 1);

    // Long text is split into lines, and no part of it becomes a command.
    const words = "漢字 and words ".repeat(60).trim();
    const long = { channel: "irc", to: "Ann", message: `${words}\r\nQUIT :gone\r\nlast`, idempotencyKey: "long" };
    await client.call(outbound.send, long);
    await ann.sees(/PRIVMSG ann :last$/);
    const pieces = ann.heard
      .filter((line) => line.startsWith("ann bot: "))
      .map((line) => line.slice("ann bot: ".length));
    assert.ok(pieces.length > 4);
    assert.equal(pieces.slice(1).join(" ").replace(/\s/g, ""), `${words}QUIT:gonelast`.replace(/\s/g, ""));
    const nobody = { channel: "irc", to: "nobody", message: "hi", idempotencyKey: "none" };
    await assert.rejects(client.call(outbound.send, nobody), {
      code: "UNAVAILABLE",
      message: /refused nobody: No such nick/,
    });
    await assert.rejects(client.call(outbound.send, { ...nobody, to: "no body" }), { code: "INVALID_REQUEST" });

    // The server is killed and restarted; the account reconnects.
    await server.kill();
    await until(async () => (await account())?.connected === false, "the account away");
    await server.start();
    await connected();
    const again = await arrive(t, server, "ann", PASSWORD);
    again.says("bot", "echo back again");
    await again.sees(/PRIVMSG ann :back again$/);

    // The gateway is killed and restarted; confirmed messages are not sent again.
    await until(async () => (await account())?.waitingOutbound === 0, "the confirmation");
    await client.close();
    await first.stop("SIGKILL");
    const second = await at.run();
    client = await open(second);
    await connected();
    again.says("bot", "echo still there");
    await again.sees(/PRIVMSG ann :still there$/);
    assert.equal(again.heard.filter((line) => line.endsWith(": back again")).length, 1);
    assert.match(await svc("channels", "status"), /^irc +default +connected: as bot /m);

    again.write("JOIN #team");
    await again.sees(/ 366 /);
    await svc("plugins", "remove", "irc", "--purge");
    await again.sees(/^:bot!\S+ QUIT /);
    await until(async () => !(await client.call(channels.status, {})).channelOrder.includes("irc"), "no channel");
    const { meta, ...config } = JSON.parse(readFileSync(at.configPath, "utf8")) as Record<string, unknown>;
    assert.ok(meta, "when it was written last");
    assert.deepEqual(config, JSON.parse(before.config));
    assert.deepEqual(treeLines(join(at.stateDir, "plugins/irc")), before.private);
    const left = extensions().filter((line) => /irc/.test(line.slice(at.stateDir.length)));
    assert.deepEqual(left, []);
    await client.close();
  });

  it("finds another nick, and does not hammer a server that refuses its password", async (t) => {
    const server = await startNgircd(t, PASSWORD);
    await arrive(t, server, "bot", PASSWORD);
    const ann = await arrive(t, server, "ann", PASSWORD);
    const state = await stateDirectory(t, { port: server.port, password: PASSWORD, allowFrom: ["*"] });
    const gateway = await startGatewayProcess(state, { SVC_HOME: state });
    t.after(() => gateway.kill());
    const client = await gateway.connect();
    const account = async () => (await client.call(channels.status, {})).channelAccounts["irc"]?.[0];
    await until(async () => (await account())?.state === "connected: as bot_", "the other nick");
    ann.says("bot_", "hi");
    await ann.sees(/PRIVMSG ann :I am the offline responder/);
    await client.close();
    await gateway.kill();

    const wrong = await stateDirectory(t, { port: server.port, password: "not-the-pass" });
    const other = await startGatewayProcess(wrong, { SVC_HOME: wrong });
    t.after(() => other.kill());
    const operator = await other.connect();
    const refused = async () => (await operator.call(channels.status, {})).channelAccounts["irc"]?.[0];
    const seen = await until(async () => {
      const now = await refused();
      return now?.linked === false ? now : undefined;
    }, "the refusal");
    assert.equal(seen.running, false);
    assert.match(String(seen.lastError), /refused the password/);
    assert.doesNotMatch(JSON.stringify(seen) + other.log(), /not-the-pass/);
    await operator.close();
  });
});

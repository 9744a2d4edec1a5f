/** examples/community-channel-irc with a real server: talked to, restarted under, split, refused. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { channels, outbound } from "@svc/sdk";
import { root } from "../checkout.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { arrive, startNgircd, withoutNgircd } from "../ngircd.ts";
import { until } from "../plugins/channels/scene.ts";

const EXAMPLE = join(root, "examples/community-channel-irc");
const PASSWORD = "server-pass-1";

async function stateDirectory(t: TestContext, irc: object): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "svc-irc-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const state = join(directory, "state");
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

describe("examples/community-channel-irc", { timeout: 120_000, skip: withoutNgircd() }, () => {
  it("talks to people on a real server, through its restart and the gateway's", async (t) => {
    const server = await startNgircd(t, PASSWORD);
    const state = await stateDirectory(t, {
      port: server.port,
      password: PASSWORD,
      channels: ["#Team"],
      allowFrom: ["ann!~ann@127.0.0.1"],
    });
    const first = await startGatewayProcess(state, { SVC_HOME: state });
    t.after(() => first.kill());
    let client = await first.connect();
    const account = async () => (await client.call(channels.status, {})).channelAccounts["irc"]?.[0];
    const connected = () => until(async () => (await account())?.connected, "the account connected");
    await connected().catch((error: Error) => assert.fail(`${error.message}\n${first.log()}`));

    // Directly: who is allowed is answered, a stranger is not, whatever they call themselves.
    const ann = await arrive(t, server, "ann", PASSWORD);
    const mallory = await arrive(t, server, "ann_", PASSWORD);
    mallory.says("bot", "echo let me in");
    ann.says("bot", "echo \u0002hello\u0002 IRC");
    await ann.sees(/PRIVMSG ann :hello IRC$/);
    assert.equal(mallory.heard.length, 0);

    // In a channel: only with a mention; anybody there may ask, and is answered there.
    for (const person of [ann, mallory]) {
      person.write("JOIN #team");
      await person.sees(/ 366 /);
    }
    mallory.says("#team", "nobody asked the machine");
    mallory.says("#team", "bot: what are you?");
    await mallory.sees(/PRIVMSG #team :I am the offline responder/);
    const said = mallory.heard.filter((line) => line.startsWith("#team bot:"));
    assert.equal(said.filter((line) => line.includes("offline responder")).length, 1);

    // What is long comes in pieces, and nothing in it is a command.
    const words = "漢字 and words ".repeat(60).trim();
    await client.call(outbound.send, {
      channel: "irc",
      to: "Ann",
      message: `${words}\r\nQUIT :gone\r\nlast`,
      idempotencyKey: "long",
    });
    await ann.sees(/PRIVMSG ann :last$/);
    const pieces = ann.heard
      .filter((line) => line.startsWith("ann bot: "))
      .map((line) => line.slice("ann bot: ".length));
    assert.ok(pieces.length > 4);
    assert.equal(pieces.slice(1).join(" ").replace(/\s/g, ""), `${words}QUIT:gonelast`.replace(/\s/g, ""));
    await assert.rejects(
      client.call(outbound.send, { channel: "irc", to: "nobody", message: "hi", idempotencyKey: "none" }),
      {
        code: "UNAVAILABLE",
        message: /refused nobody: No such nick/,
      },
    );
    await assert.rejects(client.call(outbound.send, { to: "no body", message: "hi", idempotencyKey: "bad" }), {
      code: "INVALID_REQUEST",
    });

    // The server dies and comes back; so does the account, and what was said to it meanwhile goes out.
    await server.kill();
    await until(async () => (await account())?.connected === false, "the account away");
    await server.start();
    await connected();
    const again = await arrive(t, server, "ann", PASSWORD);
    again.says("bot", "echo back again");
    await again.sees(/PRIVMSG ann :back again$/);

    // The gateway dies and comes back; what the server had confirmed is not said again.
    await until(async () => (await account())?.waitingOutbound === 0, "the confirmation");
    await client.close();
    await first.kill();
    const second = await startGatewayProcess(state, { SVC_HOME: state });
    t.after(() => second.kill());
    client = await second.connect();
    await connected();
    again.says("bot", "echo still there");
    await again.sees(/PRIVMSG ann :still there$/);
    assert.equal(again.heard.filter((line) => line.endsWith(": back again")).length, 1);
    await client.close();
    await second.kill("SIGTERM");
    await again.sees(/bot|QUIT|quit/);
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

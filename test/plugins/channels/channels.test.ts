/** Messages in and answers out, through a gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { channels } from "@svc/sdk";
import { textOf } from "@svc/sdk/services";
import { pigeon } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

describe("a channel", { timeout: 60_000 }, () => {
  it("brings a message to the agent and the answer back, once for each id", async (t) => {
    const bird = pigeon();
    const { inside, client } = await startScene(t, [bird.plugin]);
    await until(() => bird.running.get("default"), "the account");
    const sessionKey = "agent:main:main";
    assert.deepEqual(await bird.says("echo hello", { id: "1" }), { accepted: true, sessionKey });
    await until(() => bird.sent.length === 1, "the answer");
    assert.deepEqual(bird.sent, [{ account: "default", to: "ann", text: "hello" }]);
    assert.deepEqual(await bird.says("echo hello", { id: "1" }), { accepted: false, reason: "duplicate" });
    assert.deepEqual(await bird.says("echo again"), { accepted: true, sessionKey });
    await until(() => bird.sent.length === 2, "the second answer");
    const said = (await inside.sessions.transcript(sessionKey, 10)).map(({ message }) => textOf(message));
    assert.deepEqual(said, ["echo hello", "hello", "echo again", "again"]);
    const entry = await inside.sessions.get(sessionKey);
    assert.deepEqual(entry?.["deliveryContext"], { channel: "pigeon", to: "ann", accountId: "default" });
    const status = await client.call(channels.status, {});
    assert.deepEqual([status.channelOrder, status.channelDefaultAccountId], [["pigeon"], { pigeon: "default" }]);
    const [account] = status.channelAccounts["pigeon"] ?? [];
    assert.equal(account?.connected, true);
    assert.equal(typeof account?.lastInboundAt, "number");
    assert.equal(typeof account?.lastOutboundAt, "number");
    assert.deepEqual([account?.waitingInbound, account?.waitingOutbound, account?.failedOutbound], [0, 0, 0]);
  });
});

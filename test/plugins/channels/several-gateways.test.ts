/** Accounts of two gateways on one database: one of them connects an account and sends its texts. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Type } from "@svc/sdk";
import { type AccountState, channels, outbound } from "@svc/sdk/channels";
import { emptySchema, withoutPostgres } from "../../postgres.ts";
import { pigeon, type PigeonOptions, textsOf, untilStopped } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

async function two(t: TestContext, options: PigeonOptions = {}) {
  const url = await emptySchema();
  const config = { plugins: { entries: { "storage-postgres": { enabled: true } } }, "storage-postgres": { url } };
  const open = async () => {
    const network = pigeon(options);
    const work = { isBusy: false };
    const busy = definePlugin({ id: "busy", api: "^1.0.0", setup: (gateway) => gateway.busy(() => work.isBusy) });
    return {
      network,
      work,
      ...(await startScene(t, [network.plugin, busy], { config, gateway: { drainMs: 60_000 } })),
    };
  };
  const one = await open();
  await until(() => one.network.running.size === 1, "the first account to run");
  return { one, other: await open() };
}

describe("an account of two gateways", { skip: withoutPostgres() }, () => {
  it("runs in one of them, and in the other one when that has ended", async (t) => {
    const { one, other } = await two(t);
    const status = async ({ client }: typeof one) =>
      (await client.call(channels.status, {})).channelAccounts["pigeon"]?.map(({ running }) => running);
    assert.deepEqual([await status(one), await status(other), other.network.runs], [[true], [false], []]);
    await one.gateway.stop();
    await until(() => other.network.running.size === 1, "the other one to run it");
    await other.network.says("echo are you there?");
    await until(() => textsOf(other.network).includes("are you there?"), "the answer");
  });

  it("is left to the other one when its gateway begins to stop", async (t) => {
    const { one, other } = await two(t);
    one.work.isBusy = true;
    await until(() => one.gateway.others === 1, "the other one to be known");
    const stopped = one.gateway.stop("test");
    await until(() => other.network.running.size === 1, "the other one to run it");
    assert.equal(one.network.running.size, 0);
    await other.network.says("echo are you there?");
    await until(() => textsOf(other.network).includes("are you there?"), "the answer");
    one.work.isBusy = false;
    await stopped;
  });

  it("is not taken over while its plugin is reloaded", async (t) => {
    const { one, other } = await two(t);
    await one.gateway.reload("pigeon");
    await until(() => one.network.runs.length === 2, "its next run");
    assert.deepEqual([one.network.running.size, other.network.runs], [1, []]);
  });

  it("has its texts sent once, by its owner, whichever gateway stored them", async (t) => {
    const { one, other } = await two(t);
    const message = (text: string) => ({ channel: "pigeon", to: "ann", message: text, idempotencyKey: text });
    await one.client.call(outbound.send, message("here"));
    const sending = other.client.call(outbound.send, message("there"));
    await until(() => textsOf(one.network).includes("there"), "the text of the other gateway");
    await sending;
    assert.deepEqual([textsOf(one.network), textsOf(other.network)], [["here", "there"], []]);
  });

  it("remembers at the other one how far it has read; the former run changes it no more", async (t) => {
    const schema = Type.Object({ read: Type.Integer() });
    const seen: (number | undefined)[] = [];
    const states: AccountState<{ read: number }>[] = [];
    const { one, other } = await two(t, {
      async run(current) {
        const state = await current.openState(schema);
        states.push(state);
        seen.push(state.value?.read);
        await state.write({ read: (state.value?.read ?? 0) + 1 });
        await untilStopped(current);
        await state.write({ read: (state.value?.read ?? 0) + 10 });
      },
    });
    await until(() => seen.length === 1, "the first run");
    await one.gateway.stop();
    await until(() => seen.length === 2, "the run at the other one");
    assert.deepEqual(seen, [undefined, 11], "the last write of the first run is there");
    await assert.rejects((async () => states[0]?.write({ read: 0 }))(), { code: "UNAVAILABLE" });
    await other.gateway.reload("pigeon");
    await until(() => seen.length === 3, "the next run");
    assert.equal(seen[2], 22);
  });

  it("that the network calls runs in both", async (t) => {
    const { one, other } = await two(t, { accounts: [{ isShared: true }] });
    await until(() => other.network.running.size === 1, "both to run it");
    await other.network.says("echo from the other one");
    await until(() => textsOf(one.network).length + textsOf(other.network).length > 0, "the answer");
    assert.deepEqual(textsOf(one.network), ["from the other one"], "the owner sends");
  });
});

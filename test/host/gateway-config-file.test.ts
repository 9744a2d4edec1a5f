// long: waits for watched files
/** The file of a running gateway is edited; fault/config-files.test.ts breaks and loses it. Spec: http/config.md §5. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type Plugin, Type } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { contractOf, directoryOf, until } from "./kernel/reload-scene.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask");
const Section = Type.Object({
  name: Type.String({ default: "none" }),
  colour: Type.String({ default: "red", reload: "hot" }),
});

interface Seen {
  readonly log: string[];
  store?: ConfigStore;
}

/** @param takesHot whether the plugin has a `configChanged`, and what that does */
const shopPlugin = (seen: Seen, takesHot?: () => void): Plugin =>
  definePlugin({
    id: "shop",
    api: "^1.0.0",
    config: Section,
    requires: { config: ConfigStore },
    setup(gateway) {
      let { colour } = gateway.config;
      const { name } = gateway.config;
      seen.log.push(`setup ${name} ${colour}`);
      gateway.serve(shop, { ask: () => ({ answer: `${name} ${colour}` }) });
      if (takesHot)
        gateway.configChanged((config) => {
          takesHot();
          seen.log.push(`changed ${config.colour}`);
          ({ colour } = config);
        });
      gateway.start(() => void (seen.store = gateway.services.config));
    },
  });

async function start(
  t: TestContext,
  options: { takesHot?: () => void; clock?: object; more?: Plugin[]; gateway?: object } = {},
) {
  const stateDir = await directoryOf(t, "svc-file-");
  const file = join(stateDir, "svc.json");
  const write = (config: object, gateway: object = {}) =>
    writeFile(
      file,
      JSON.stringify({
        gateway: { auth: { token: "t" }, reload: { debounceMs: 0 }, ...options.gateway, ...gateway },
        ...config,
      }),
    );
  await write({ shop: { name: "one" } });
  const seen: Seen = { log: [] };
  const running = await testGateway(t, {
    stateDir,
    plugins: [shopPlugin(seen, options.takesHot), ...(options.more ?? [])],
    gateway: { config: undefined, ...(options.clock ? { clock: options.clock } : {}) },
  });
  const ask = async () => ((await running.client.call(shop.ask, {})) as { answer: string }).answer;
  const becomes = async (answer: string) => {
    while ((await ask()) !== answer) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const report = () => running.gateway.plugins().find(({ id }) => id === "shop");
  return { ...running, file, write, seen, ask, becomes, report };
}

describe("a plugin's section", limited, () => {
  it("that changes starts a new generation, also in a hot key without a handler; the socket stays open", async (t) => {
    const { write, becomes, report, client } = await start(t);
    let closed = 0;
    client.onClose(() => closed++);
    await write({ shop: { name: "two" } });
    await becomes("two red");
    assert.deepEqual([report()?.generation, closed], [2, 0]);
    await write({ shop: { name: "two", colour: "blue" } });
    await becomes("two blue");
    assert.deepEqual([report()?.generation, closed], [3, 0]);
  });

  it("with changes only in hot keys is passed to the plugin: no new generation", async (t) => {
    const { write, becomes, report, seen } = await start(t, { takesHot: () => {} });
    await write({ shop: { name: "one", colour: "blue" } });
    await becomes("one blue");
    assert.deepEqual([report()?.generation, seen.log], [1, ["setup one red", "changed blue"]]);
    await write({ shop: { name: "two", colour: "green" } });
    await becomes("two green");
    assert.deepEqual([report()?.generation, seen.log.at(-1)], [2, "setup two green"]);
  });

  it("whose handler throws counts a failure, and the plugin is reloaded instead", async (t) => {
    const takesHot = () => {
      throw new Error("boom");
    };
    const { write, becomes, report } = await start(t, { takesHot });
    await write({ shop: { name: "one", colour: "blue" } });
    await becomes("one blue");
    assert.deepEqual([report()?.generation, report()?.errors], [2, 1]);
  });
});

it("a plugin that waits for a setting starts when it is set", limited, async (t) => {
  const stateDir = await directoryOf(t, "svc-file-");
  const write = (more: object) =>
    writeFile(join(stateDir, "svc.json"), JSON.stringify({ gateway: { reload: { debounceMs: 0 } }, ...more }));
  await write({});
  const needy = definePlugin({
    id: "shop",
    api: "^1.0.0",
    config: Type.Object({ name: Type.String() }),
    setup: (gateway) => gateway.serve(shop, { ask: () => ({ answer: gateway.config.name }) }),
  });
  const { gateway, client } = await testGateway(t, {
    stateDir,
    plugins: [needy],
    gateway: { config: undefined },
  });
  const state = () => gateway.plugins().find(({ id }) => id === "shop")?.state;
  assert.equal(state(), "blocked");
  await write({ shop: { name: "five" } });
  await until(() => state() === "active");
  assert.deepEqual(await client.call(shop.ask, {}), { answer: "five" });
});

it("an edit that is refused by a plugin's gate is not used", limited, async (t) => {
  const refused: unknown[] = [];
  const picky = definePlugin({
    id: "picky",
    api: "^1.0.0",
    setup: ({ hooks }) =>
      hooks.configValidate.tap(({ changed, config }) => {
        if ((config as { shop?: { name?: string } }).shop?.name !== "bad") return undefined;
        refused.push(changed);
        return { allow: false, reason: "not that name" };
      }),
  });
  const { write, becomes, ask, seen } = await start(t, { more: [picky] });
  await write({ shop: { name: "bad" } });
  await until(() => refused.length > 0);
  assert.deepEqual([await ask(), refused[0]], ["one red", ["shop.name"]]);
  const { hash = "" } = (await seen.store?.snapshot()) ?? {};
  const raw = JSON.stringify({ shop: { colour: "blue", name: "bad" } });
  await assert.rejects(
    async () => seen.store?.write({ actor: "x", action: "x", mode: "patch", raw, baseHash: hash }),
    /not that name/,
  );
  await write({ shop: { name: "good" } });
  await becomes("good red");
});

it("an edited file must be unchanged for gateway.reload.debounceMs, which is itself hot", limited, async (t) => {
  const clock = createFakeClock();
  const { write, ask, becomes } = await start(t, { clock, gateway: { reload: { debounceMs: 5_000 } } });
  const noticed = async (config: object, gateway: object) => {
    const before = clock.pending;
    await write(config, gateway);
    await until(() => clock.pending > before, "the notice of an edit");
    await new Promise((resolve) => setTimeout(resolve, 200)); // the last of its events
  };
  const rested = async (ms: number) => {
    await clock.advance(ms);
    await new Promise((resolve) => setTimeout(resolve, 50)); // it reads the file
    await clock.advance(200);
  };
  await write({ shop: { name: "zero" } });
  for (let turn = 0; turn < 200 && (await ask()) !== "zero red"; turn++) await rested(5_000); // from then on it watches
  for (let turn = 0; turn < 3; turn++) await rested(5_000); // what is still on its way
  await noticed({ shop: { name: "two" } }, { reload: { debounceMs: 50 } });
  await clock.advance(4_999);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await ask(), "zero red");
  await rested(1);
  await becomes("two red");
  await noticed({ shop: { name: "three" } }, { reload: { debounceMs: 50 } });
  await rested(50);
  await becomes("three red");
});

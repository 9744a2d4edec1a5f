/** examples/kinds: every plugin of the author's guide runs, and does what the guide says. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { models } from "@svc/sdk/models";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { tools } from "@svc/sdk/tools";
import config from "../../examples/kinds/config.ts";
import event from "../../examples/kinds/event.ts";
import { contributor, owner, units } from "../../examples/kinds/extension-point.ts";
import hook from "../../examples/kinds/hook.ts";
import method, { dice } from "../../examples/kinds/method.ts";
import parrot from "../../examples/kinds/provider.ts";
import resource from "../../examples/kinds/resource.ts";
import route from "../../examples/kinds/route.ts";
import { consumer, provider } from "../../examples/kinds/service.ts";
import storage, { tally } from "../../examples/kinds/storage.ts";
import tool from "../../examples/kinds/tool.ts";
import { pluginOf } from "../plugin-of.ts";

const ALL = [
  config,
  event,
  contributor,
  owner,
  hook,
  method,
  parrot,
  resource,
  route,
  consumer,
  provider,
  storage,
  tool,
];

const BUNDLED = ["storage-sqlite", "sessions", "agents", "models", "tools", "approvals"];

describe("the plugins of the author's guide", { timeout: 120_000 }, () => {
  it("run in one gateway, and serve what they declare", async (t) => {
    const options = { plugins: [...ALL, ...BUNDLED], gateway: { clock: createFakeClock() } };
    const { gateway, client } = await testGateway(t, options);
    const states = gateway.plugins().map(({ id, state }) => `${id} ${state}`);
    assert.deepEqual(
      states.filter((state) => !/ (active|asleep)$/.test(state)),
      [],
    );
    assert.ok((await client.call(dice.roll, { sides: 6 })).value <= 6);
    assert.deepEqual(await client.call(units.list, {}), { ids: ["inch"] });
    assert.deepEqual(
      [await client.call(tally.add, {}), await client.call(tally.add, {})],
      [{ marks: 1 }, { marks: 2 }],
    );
    const answer = await fetch(`${gateway.url.replace("ws", "http")}/plugins/uptime/seconds`, {
      headers: { authorization: `Bearer ${String(gateway.auth.token)}` },
    });
    assert.deepEqual([answer.status, await answer.json()], [200, { seconds: 0 }]);
    const { models: all } = await client.call(models.list, {});
    assert.ok(all.some(({ id, provider: by }) => id === "polly" && by === "parrot"));
    const { groups } = await client.call(tools.catalog, {});
    assert.ok(groups.some((group) => group.tools.some(({ id }) => id === "count_words")));
  });

  it("deny a run at night, end the prompt with the motto, and answer as the parrot", async (t) => {
    const prompts: string[] = [];
    const listener = pluginOf("listener", { after: ["motto"] }, (gateway) =>
      gateway.hooks.runPrompt.tap(({ system }) => void prompts.push(system)),
    );
    const ask = async (hour: number) => {
      const clock = createFakeClock(new Date(2026, 0, 1, hour).getTime());
      const { client } = await testGateway(t, {
        plugins: [config, hook, parrot, listener, ...BUNDLED],
        config: { agents: { defaults: { model: "parrot/polly" } } },
        gateway: { clock },
      });
      return client.request("agent", { message: "hi", idempotencyKey: "1" }, { expectFinal: true });
    };
    await assert.rejects(ask(3), /may not run before 6 o'clock/);
    assert.match(JSON.stringify(await ask(9)), /You said: .*hi/);
    assert.match(prompts.at(-1) ?? "", /\nBe brief\.$/);
  });
});

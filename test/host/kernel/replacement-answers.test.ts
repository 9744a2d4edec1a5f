/** Methods that complete waiting calls: a replacement lets them through, so that those calls finish and are not interrupted. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineContract, type Plugin, Type } from "@svc/sdk";
import { Any, slotOf, startScene } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const common = { summary: "-", scope: "operator.read", params: Any, result: Type.Unknown() } as const;

async function scene(t: TestContext, answers: boolean) {
  const mail = defineContract("mail", {
    wait: common,
    bring: { ...common, answers },
    version: common,
  });
  const version = (name: string): Plugin =>
    pluginOf("mail", (gateway) => {
      let deliver = (_letter: string) => {};
      const letter = new Promise<string>((resolve) => (deliver = resolve));
      gateway.serve(mail, {
        wait: () => letter,
        bring: () => {
          deliver(`letter for ${name}`);
          return { taken: name };
        },
        version: () => ({ name }),
      });
    });
  const slot = await slotOf(t, version("old"));
  const running = await startScene(t, [slot]);
  slot.become(version("new"));
  const waiting = running.client.call(mail.wait, {});
  await running.client.call(mail.version, {}); // once it returns, the call before it is in flight
  const reloading = running.reload("mail");
  await new Promise((resolve) => setTimeout(resolve, 50));
  return { mail, waiting, reloading, ...running };
}

describe("a replacement while calls wait for other calls", { timeout: 120_000 }, () => {
  it("lets the completing calls through to the old version", async (t) => {
    const { mail, waiting, reloading, client } = await scene(t, true);
    assert.deepEqual(await client.call(mail.bring, {}), { taken: "old" });
    assert.equal(await waiting, "letter for old");
    assert.equal((await reloading).ok, true);
    assert.deepEqual(await client.call(mail.bring, {}), { taken: "new" });
  });

  it("holds everything else for the new version", async (t) => {
    const { mail, waiting, reloading, client } = await scene(t, false);
    waiting.catch(() => undefined); // nothing completes it any more
    assert.deepEqual(await client.call(mail.bring, {}), { taken: "new" });
    assert.equal((await reloading).ok, true);
  });
});

/** A plugin that edits the configuration within its change handler is refused at once; it can do so afterwards. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Type } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { barrier, directoryOf, startScene } from "../kernel/reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

it("does not wait for itself", { timeout: 120_000 }, async (t) => {
  const stateDir = await directoryOf(t);
  let store: ConfigStore | undefined;
  const [told, over, edited] = [barrier<string>(), barrier(), barrier<readonly string[]>()];
  const author = { actor: "test", action: "test" };
  const edit = (n: number) => store?.edit(author, () => [{ path: ["admin", "n"], value: n }]);
  const admin = pluginOf(
    "admin",
    { requires: { config: ConfigStore }, config: Type.Object({ n: Type.Integer({ default: 1, reload: "hot" }) }) },
    (gateway) => {
      store = gateway.services.config;
      gateway.configChanged(async ({ n }) => {
        if (n !== 2) return;
        await edit(3)?.then(
          () => told.open("written"),
          ({ code, message }: { code: string; message: string }) => told.open(`${code}: ${message}`),
        );
        void over.passed.then(() => edit(4)).then((result) => edited.open(result?.changed ?? []));
      });
    },
  );
  const { report } = await startScene(t, [admin], { stateDir, gateway: { config: undefined } });
  await edit(2);
  assert.match(
    await told.passed,
    /^UNAVAILABLE: code called during a configuration change cannot change the configuration/,
  );
  assert.deepEqual([report("admin")?.generation, report("admin")?.errors], [1, 0]);
  over.open();
  assert.deepEqual(await edited.passed, ["admin.n"], "begun in the change, done after it");
});

/** A running gateway with a plugin whose section is below a section of the host. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type Plugin, Strict, Type } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";
import { directoryOf } from "./kernel/reload-scene.ts";

const limited = { timeout: 120_000 };

async function start(t: TestContext, config: object) {
  const stateDir = await directoryOf(t, "svc-below-");
  const file = join(stateDir, "svc.json");
  await writeFile(file, JSON.stringify({ gateway: { auth: { token: "t" } }, ...config }));
  const log: string[] = [];
  const found: { store?: ConfigStore } = {};
  const mail: Plugin = definePlugin({
    id: "mail",
    api: "^1.0.0",
    section: "hooks.mail",
    config: Strict({ box: Type.String({ default: "inbox" }), colour: Type.Optional(Type.String({ reload: "hot" })) }),
    setup(gateway) {
      log.push(`setup ${gateway.config.box}`);
      gateway.configChanged(({ colour }) => void log.push(`colour ${colour}`));
    },
  });
  const editor = definePlugin({
    id: "editor",
    api: "^1.0.0",
    requires: { config: ConfigStore },
    setup: (gateway) => gateway.start(() => void (found.store = gateway.services.config)),
  });
  const { gateway } = await testGateway(t, {
    stateDir,
    plugins: [mail, editor],
    gateway: { config: undefined },
  });
  const edit = (path: string, value: unknown) =>
    found.store?.edit({ actor: "test", action: "test" }, () => [{ path: path.split("."), value }]);
  const report = (id: string) => gateway.plugins().find((one) => one.id === id);
  return { gateway, store: found.store, edit, log, report, file };
}

describe("a section below hooks", limited, () => {
  it("is read at the start, and its changes reach only its plugin", async (t) => {
    const { edit, log, report, file } = await start(t, { hooks: { path: "/in", mail: { box: "one" } } });
    assert.deepEqual(log, ["setup one"]);
    assert.deepEqual((await edit("hooks.mail.box", "two"))?.changed, ["hooks.mail.box"]);
    await edit("hooks.mail.colour", "red");
    await edit("hooks.path", "/other");
    assert.deepEqual(log, ["setup one", "setup two", "colour red"]);
    assert.deepEqual([report("mail")?.generation, report("editor")?.generation], [2, 1]);
    assert.deepEqual(JSON.parse(await readFile(file, "utf8")).hooks, {
      path: "/other",
      mail: { box: "two", colour: "red" },
    });
  });

  it("that is invalid prevents the start, and is refused in a write", async (t) => {
    await assert.rejects(start(t, { hooks: { mail: { box: 1 } } }), /^ {2}hooks\.mail\.box: must be string$/m);
    const { edit } = await start(t, {});
    await assert.rejects(async () => edit("hooks.mail.box", 2), { code: "INVALID_REQUEST" });
    assert.deepEqual((await edit("hooks.internal", { enabled: true }))?.changed, []);
  });

  it("without an owner is kept, with a warning", async (t) => {
    const { gateway, store } = await start(t, { hooks: { other: { a: 1 } } });
    assert.ok(
      gateway.warnings.some((text) => text.startsWith("hooks.other: not used")),
      gateway.warnings.join("\n"),
    );
    const { valid, warnings, config } = (await store?.snapshot()) ?? {};
    assert.deepEqual(
      [valid, warnings?.map(({ path }) => path), (config as { hooks: unknown }).hooks],
      [true, ["hooks.other"], { other: { a: 1 }, mail: { box: "inbox" } }],
    );
  });
});

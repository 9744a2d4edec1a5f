/** A start with an invalid section of a plugin, and the last configuration that worked. Spec: http/config.md §2.4, decisions of spec/README.md. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Type } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { testGateway } from "@svc/sdk/testing";
import { contractOf, directoryOf, until } from "./kernel/reload-scene.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask");
const Section = Type.Object({ name: Type.String({ default: "none" }), size: Type.Integer({ default: 1 }) });

/** A state directory, used successively by gateways with the plugin `shop`. */
async function scene(t: TestContext) {
  const stateDir = await directoryOf(t, "svc-last-good-");
  const setups: string[] = [];
  let info: GatewayInfo | undefined;
  const plugin = definePlugin({
    id: "shop",
    api: "^1.0.0",
    config: Section,
    requires: { info: GatewayInfo },
    setup(gateway) {
      ({ info } = gateway.services);
      const { name } = gateway.config;
      setups.push(name);
      gateway.serve(shop, { ask: () => ({ answer: name }) });
    },
  });
  const auth = { auth: { token: "t" }, reload: { debounceMs: 0 } };
  const write = (config: object, gateway: object = {}) =>
    writeFileSync(join(stateDir, "svc.json"), JSON.stringify({ gateway: { ...auth, ...gateway }, ...config }));
  const start = async (lastGood = false, env: Record<string, string> = {}) => {
    const running = await testGateway(t, {
      stateDir,
      plugins: [plugin],
      gateway: { config: undefined, lastGood, env },
    });
    const ask = async () => ((await running.client.call(shop.ask, {})) as { answer: string }).answer;
    return { ...running, ask, info: () => info };
  };
  return { stateDir, kept: join(stateDir, "last-good-config.json"), write, start, setups };
}

describe("an invalid section of a plugin at the start", limited, () => {
  it("refuses the start with the whole list and the next step, before any plugin is set up", async (t) => {
    const { write, start, setups } = await scene(t);
    write({ shop: { name: 5, size: "big", colour: "red" } });
    await assert.rejects(start(), (error: Error) => {
      assert.equal(error.name, "StartupRefusal");
      assert.match(error.message, /svc\.json is not valid:\n/);
      assert.match(error.message, /^ {2}shop\.name: must be string$/m);
      assert.match(error.message, /^ {2}shop\.size: must be integer$/m);
      assert.match(error.message, /^Next: correct it, then check it with: svc config validate$/m);
      return true;
    });
    assert.deepEqual(setups, []);
  });

  it("is in one list with invalid keys of the host, which count as absent until then", async (t) => {
    const { write, start, setups } = await scene(t);
    for (const [host, told] of [
      [{ gateway: { port: "x" } }, "gateway.port: must be integer"],
      [{ plugins: { use: 5, entries: 7 } }, "plugins.use: must be array"],
      [{ logging: { level: "loud" }, gateway: { auth: { token: "${NOBODY}" } } }, "logging.level: must be one of"],
    ] as const) {
      write({ shop: { name: 5 }, ...host });
      await assert.rejects(start(), ({ name, message }: Error) => {
        assert.equal(name, "StartupRefusal");
        assert.ok(message.includes(`\n  ${told}`) && message.includes("\n  shop.name: must be string\n"), message);
        return true;
      });
    }
    assert.deepEqual(setups, []);
  });

  it("missing in the file stops only the plugin that needs it", async (t) => {
    const needy = definePlugin({ id: "needy", api: "^1.0.0", config: Type.Object({ key: Type.String() }), setup() {} });
    const { gateway } = await testGateway(t, { plugins: [needy], config: {} });
    assert.deepEqual(
      gateway.plugins().map(({ id, state }) => [id, state]),
      [["needy", "blocked"]],
    );
  });
});

describe("the last configuration that worked", limited, () => {
  const wrong: [what: string, config: object, gateway?: object][] = [
    ["a wrong section of a plugin", { shop: { name: 5 } }],
    ["a wrong key of the host", { shop: { name: "two" } }, { prot: 1 }],
    ["an unsafe combination", { shop: { name: "two" } }, { auth: { mode: "trusted-proxy" } }],
  ];
  for (const [what, config, gateway] of wrong) {
    it(`is used with --last-good if the file is refused: ${what}`, async (t) => {
      const { write, start } = await scene(t);
      write({ shop: { name: "one" } });
      await (await start()).gateway.stop();
      write(config, gateway);
      await assert.rejects(start(), { name: "StartupRefusal" });
      const running = await start(true);
      assert.equal(await running.ask(), "one");
      assert.match(running.info()?.fileRefusal ?? "", /shop.name|prot|trustedProxy/);
      assert.match(running.gateway.warnings.join("\n"), /runs with the last configuration that worked: /);
      write({ shop: { name: "mended" } });
      await until(() => running.info()?.fileRefusal === undefined);
      assert.equal(await running.ask(), "mended");
    });
  }

  it("is neither used nor needed while the file is valid", async (t) => {
    const { write, start } = await scene(t);
    write({ shop: { name: "one" } });
    await (await start()).gateway.stop();
    write({ shop: { name: "two" } });
    const running = await start(true);
    assert.deepEqual([await running.ask(), running.info()?.fileRefusal], ["two", undefined]);
  });

  it("is stored privately, again after each applied change; variables stay unresolved", async (t) => {
    const { write, start, kept, stateDir, setups } = await scene(t);
    write({ shop: { name: "${SHOP_NAME}" } });
    const { ask } = await start(false, { SHOP_NAME: "hidden" });
    assert.equal(await ask(), "hidden");
    const text = readFileSync(kept, "utf8");
    assert.equal(statSync(kept).mode & 0o777, 0o600);
    assert.ok(text.includes("${SHOP_NAME}") && !text.includes("hidden"), text);
    write({ shop: { name: "next" } });
    await until(() => readFileSync(kept, "utf8").includes('"next"'));
    write({ shop: { name: "later" } }, { port: 18_999 });
    await until(() => setups.includes("later"));
    assert.ok(!readFileSync(kept, "utf8").includes("later"), "a port nobody has listened on yet counts as untried");
    assert.deepEqual(
      readdirSync(stateDir).filter((name) => name.endsWith(".tmp")),
      [],
    );
  });

  it("that is half-written or also refused leaves the refusal of the file", async (t) => {
    const { write, start, kept } = await scene(t);
    write({ shop: { name: 5 } });
    for (const text of ["", '{ "config": { "sh', '{ "config": [] }']) {
      writeFileSync(kept, text);
      await assert.rejects(start(true), /shop\.name: must be string/);
    }
    writeFileSync(kept, JSON.stringify({ config: { shop: { size: "big" } } }));
    await assert.rejects(start(true), /shop\.name: must be string[^]*is refused too: [^]*shop\.size: must be integer/);
  });
});

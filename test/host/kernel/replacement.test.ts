/** Replacing running code without a restart: success, refusal and rollback. */
import assert from "node:assert/strict";
import { rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { authRequired, definePlugin, misconfigured, notReady, type Plugin, Type } from "@svc/sdk";
import { contractOf, directoryOf, slotOf, startScene } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask");
const version = (answer: string, more: Partial<Plugin> & { also?: Plugin["setup"] } = {}): Plugin => {
  const { also, ...fields } = more;
  return definePlugin({
    id: "shop",
    api: "^1.0.0",
    setup(gateway) {
      gateway.serve(shop, { ask: () => ({ answer }) });
      return also?.(gateway);
    },
    ...fields,
  } as Plugin);
};

describe("a reload", limited, () => {
  it("serves the new code on the open connection", async (t) => {
    const slot = await slotOf(t, version("old"));
    const { client, reload, report } = await startScene(t, [slot]);
    const closes: unknown[] = [];
    client.onClose((info) => closes.push(info));
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "old" });
    slot.become(version("new", { version: "2.0.0" }));
    const { heldMs, ...told } = await reload("shop");
    assert.deepEqual(told, { id: "shop", ok: true, state: "active", generation: 2, rolledBack: false, restarted: [] });
    assert.ok(heldMs >= 0);
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "new" });
    assert.deepEqual([report("shop")?.generation, report("shop")?.version, closes], [2, "2.0.0", []]);
  });

  it("reads a TypeScript file that was edited on disk", async (t) => {
    const directory = await directoryOf(t);
    const code = (answer: string) => `
      import { defineContract, definePlugin, Type } from "@svc/sdk";
      const answer: string = ${JSON.stringify(answer)};
      const Any = Type.Object({});
      const contract = defineContract("shop", { ask: { summary: "-", scope: "operator.read", params: Any, result: Any } });
      export default definePlugin({ id: "shop", api: "^1.0.0", setup: (gateway) => gateway.serve(contract, { ask: () => ({ answer }) }) });`;
    const file = join(directory, "shop.ts");
    await writeFile(file, code("old"));
    const { client, reload } = await startScene(t, [file]);
    for (const answer of ["new", "now", "old"]) {
      await writeFile(file, code(answer)); // of the same length: size and date must not decide
      assert.equal((await reload("shop")).ok, true);
      assert.deepEqual(await client.call(shop.ask, {}), { answer });
    }
  });

  it("imports a built file again only if it was replaced on disk", async (t) => {
    const directory = await directoryOf(t);
    const file = join(directory, "shop.mjs");
    const code = (name: string) => `
      globalThis.__svcImports = (globalThis.__svcImports ?? 0) + 1;
      export default { id: "shop", api: "^1.0.0", version: "${name}", setup() {}, [Symbol.for("svc.plugin/1")]: true };`;
    await writeFile(file, code("1.0.0"));
    const { reload, report } = await startScene(t, [file]);
    await reload("shop");
    assert.deepEqual([report("shop")?.version, Reflect.get(globalThis, "__svcImports")], ["1.0.0", 1]);
    await writeFile(`${file}.next`, code("1.0.1"));
    await utimes(`${file}.next`, new Date(), new Date(Date.now() + 5_000));
    await rename(`${file}.next`, file);
    await reload("shop");
    assert.deepEqual([report("shop")?.version, Reflect.get(globalThis, "__svcImports")], ["1.0.1", 2]);
  });

  it("of an unknown plugin is refused with the list of plugins", async (t) => {
    const { reload } = await startScene(t, [version("x")]);
    await assert.rejects(reload("nobody"), { code: "NOT_FOUND", message: /plugins of this gateway: operator, shop$/ });
  });

  it("of a disabled plugin leaves it disabled, and reports why", async (t) => {
    const { reload, client } = await startScene(t, [version("x")], {
      config: { plugins: { entries: { shop: { enabled: false } } } },
    });
    const { ok, state, reason } = await reload("shop");
    assert.deepEqual([ok, state, reason], [false, "disabled", "disabled by plugins.entries.shop.enabled"]);
    await assert.rejects(client.call(shop.ask, {}), { code: "INVALID_REQUEST" });
  });
});

describe("a new version that cannot be set up leaves the old one serving", limited, () => {
  const boom = () => {
    throw new Error("boom");
  };
  const rows: [why: string, next: unknown, reason: RegExp][] = [
    ["setup throws", version("new", { also: boom }), /^setup: boom$/],
    ["setup is not ready", version("new", { also: () => notReady("asleep", 100) }), /^asleep; next attempt/],
    ["setup asks for a login", version("new", { also: () => authRequired("open it") }), /^log in first: open it$/],
    [
      "setup cannot use its settings",
      version("new", { also: () => misconfigured("/a", "no") }),
      /^configuration: \/a: no$/,
    ],
    [
      "its settings do not match its new schema",
      version("new", { config: Type.Object({ must: Type.Integer() }) }),
      /^configuration: shop: must have required properties? must|^configuration: shop.*must/,
    ],
    ["it has another id", version("new", { id: "other" }), /^its code now has the id "other"; restart the gateway/],
    ["it was made for another API", version("new", { api: "^9.0.0" }), /needs plugin API \^9\.0\.0, this gateway has/],
    ["its import throws", boom, /^import: boom$/],
    ["it exports something else", 42, /^import: .*does not export a plugin/],
    [
      "it serves a method of another",
      version("new", {
        also: (gateway) => gateway.serve(contractOf("neighbour", "hello"), { hello: () => ({}) }),
      }),
      /^method neighbour\.hello is already declared by neighbour$/,
    ],
    [
      "it mounts a route outside its paths",
      version("new", {
        also: (gateway) =>
          gateway.route({ method: "GET", path: "/else", auth: "plugin", summary: "-", handler: () => ({}) }),
      }),
      /^route GET \/else is not listed under "svc\.routes"; mount it below \/plugins\/shop\/, or add/,
    ],
  ];
  const neighbour = pluginOf("neighbour", (gateway) =>
    gateway.serve(contractOf("neighbour", "hello"), { hello: () => ({}) }),
  );
  const packaged: [why: string, next: Plugin, reason: RegExp][] = [
    [
      "it taps a gate its package does not list",
      version("new", { also: (gateway) => gateway.hooks.admit.tap(() => undefined) }),
      /^tap of admit is not listed under "svc\.gates"; add "admit" to svc\.gates in package\.json$/,
    ],
    [
      "it serves a method its package does not list",
      version("new", { also: (gateway) => gateway.serve(contractOf("mall", "ask"), { ask: () => ({}) }) }),
      /^method mall\.ask is not listed under "svc\.namespaces"; add "mall" to svc\.namespaces in package\.json$/,
    ],
  ];
  for (const [kind, manifest, all] of [
    ["single file", undefined, rows],
    ["package", { id: "shop", namespaces: ["shop"] }, packaged],
  ] as const)
    it(`of a ${kind}, for each reason, until a version can be set up`, async (t) => {
      const slot = await slotOf(t, version("old"), manifest);
      const { client, reload, report } = await startScene(t, [slot, neighbour]);
      for (const [why, next, reason] of all) {
        const { generation } = report("shop") ?? {};
        slot.become(next);
        const told = await reload("shop");
        assert.deepEqual([told.ok, told.state, told.rolledBack], [false, "active", false], why);
        assert.match(told.reason ?? "", reason);
        assert.deepEqual([told.generation, report("shop")?.generation], [generation, generation], why);
        assert.deepEqual(await client.call(shop.ask, {}), { answer: "old" }, why);
        slot.become(version("mended"));
        assert.equal((await reload("shop")).ok, true, why);
        assert.deepEqual(await client.call(shop.ask, {}), { answer: "mended" }, why);
        slot.become(version("old"));
        await reload("shop");
      }
    });
});

describe("a new version that does not start", limited, () => {
  const failing = (answer: string) =>
    version(answer, { also: (gateway) => gateway.start(() => Promise.reject(new Error("no port"))) });

  it("is rolled back: the old version runs again as a new generation, and the report says so", async (t) => {
    const seen: string[] = [];
    const old = version("old", {
      also: (gateway) => gateway.start(() => (seen.push("start"), () => void seen.push("stop"))),
    });
    const slot = await slotOf(t, old);
    const { client, reload, report } = await startScene(t, [slot]);
    slot.become(failing("new"));
    const { ok, rolledBack, state, reason, generation } = await reload("shop");
    assert.deepEqual([ok, rolledBack, state, generation, reason], [false, true, "active", 3, "start: no port"]);
    assert.match(report("shop")?.reason ?? "", /^rolled back: the new version did not start: start: no port$/);
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "old" });
    assert.deepEqual(seen, ["start", "stop", "start"]);
  });

  it("leaves `failed` with both reasons if the rollback fails, too, until a reload fixes it", async (t) => {
    let starts = 0;
    const once = version("old", {
      also: (gateway) => gateway.start(() => (++starts > 1 ? Promise.reject(new Error("port lost")) : undefined)),
    });
    const slot = await slotOf(t, once);
    const { client, reload, report } = await startScene(t, [slot]);
    slot.become(failing("new"));
    const told = await reload("shop");
    assert.deepEqual([told.ok, told.rolledBack, told.state], [false, false, "failed"]);
    assert.match(
      report("shop")?.reason ?? "",
      /no port; the rollback to the old version failed, too: start: port lost/,
    );
    await assert.rejects(client.call(shop.ask, {}), /plugin shop/);
    slot.become(version("mended"));
    assert.equal((await reload("shop")).state, "active");
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "mended" });
  });
});

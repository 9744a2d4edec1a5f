/** Deprecated parts of the plugin API: a plugin that uses one is named once, with the replacement. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { defineContract, Type } from "@svc/sdk";
import { plugins } from "@svc/sdk/plugins";
import { describeDeprecated, noteMembers } from "../../../host/kernel/deprecations.ts";
import { startGatewayProcess } from "../../gateway-process.ts";
import { directory } from "../../directory.ts";

/** A plugin with a deprecated hook, service, extension point and method, and one that uses them all. */
const SHARED = `
import { defineContract, defineExtensionPoint, defineHook, definePlugin, defineService, live, Type } from "@svc/sdk";
const mark = (instead) => ({ since: "1.4.0", removedIn: "2.0.0", instead });
const facts = { when: "-", returns: "-", throws: "-" };
const Old = defineService()("old.service", "1.0.0", { deprecated: mark("new.service") });
const Point = defineExtensionPoint("old.point", { deprecated: mark("new.point") });
const hook = defineHook()("observe", { name: "old:hook", owner: "maker", ...facts, deprecated: mark("new:hook") });
const None = Type.Object({});
const contract = defineContract("maker", {
  old: { summary: "-", scope: "none", params: None, result: None, deprecated: mark("maker.new") },
  new: { summary: "-", scope: "none", params: None, result: None },
});
`;

const MAKER = `${SHARED}
export default definePlugin({
  id: "maker", api: "^1.0.0", provides: [Old],
  setup(gateway) {
    gateway.provide(Old, {});
    gateway.own(Point);
    gateway.emits(hook);
    gateway.serve(contract, { old: () => ({}), new: () => ({}) });
  },
});
`;

const USER = `${SHARED}
const own = defineContract("user", { go: { summary: "-", scope: "none", params: None, result: None } });
export default definePlugin({
  id: "user", api: "^1.0.0", requires: { old: Old, again: live(Old) },
  setup(gateway) {
    gateway.extend(Point, "a", {});
    gateway.extend(Point, "b", {});
    gateway.hook(hook).tap(() => undefined);
    gateway.serve(own, { go: async ({ principal }) => {
      await gateway.call(contract.new, {}, { principal });
      await gateway.call(contract.old, {}, { principal });
      return {};
    } });
  },
});
`;

const AT_START = [
  "service old.service: deprecated since 1.4.0, removed in 2.0.0; instead: new.service",
  "extension point old.point: deprecated since 1.4.0, removed in 2.0.0; instead: new.point",
  "hook old:hook: deprecated since 1.4.0, removed in 2.0.0; instead: new:hook",
];
const AT_CALL = "method maker.old: deprecated since 1.4.0, removed in 2.0.0; instead: maker.new";

const user = defineContract("user", {
  go: { summary: "-", scope: "none", params: Type.Object({}), result: Type.Object({}) },
});

describe("deprecated parts of the plugin API", () => {
  it("are logged once at the start of the plugin, methods at their first call, and listed in reports", async (t) => {
    const stateDir = directory(t);
    await writeFile(join(stateDir, "maker.ts"), MAKER);
    await writeFile(join(stateDir, "user.ts"), USER);
    const use = ["./maker.ts", "./user.ts", "plugins"];
    await writeFile(join(stateDir, "svc.json"), JSON.stringify({ plugins: { use } }));
    const gateway = await startGatewayProcess(stateDir, {}, { logLevel: "warn" });
    t.after(() => gateway.kill());
    const client = await gateway.connect();
    t.after(() => client.close());
    const lines = () =>
      gateway
        .log()
        .split("\n")
        .flatMap((line) => (line.includes("deprecated since") ? [(JSON.parse(line) as { msg: string }).msg] : []));
    const uses = async () => {
      const { plugins: rows } = await client.call(plugins.list, {});
      return Object.fromEntries(rows.map(({ id, deprecated }) => [id, deprecated]));
    };

    assert.deepEqual(lines(), [`plugin user uses deprecated parts of the plugin API: ${AT_START.join(" | ")}`]);
    assert.deepEqual(await uses(), { maker: undefined, plugins: undefined, user: AT_START });
    const report = JSON.parse(await readFile(join(stateDir, "startup-report.json"), "utf8"));
    assert.deepEqual(report.plugins.find(({ id }: { id: string }) => id === "user").deprecated, AT_START);

    await client.call(user.go, {});
    await client.call(user.go, {});
    assert.deepEqual(lines().slice(1), [`plugin user uses ${AT_CALL}`]);
    assert.deepEqual((await uses())["user"], [...AT_START, AT_CALL]);
  });

  it("can be members of the gateway itself, which work as before", () => {
    const uses = new Map();
    const marks = { every: { since: "1.2.0", removedIn: "2.0.0", instead: "gateway.start" } };
    const gateway = { id: "x", every: (ms: number) => ms * 2, after: (ms: number) => ms };
    noteMembers(gateway, uses, marks);
    assert.deepEqual(describeDeprecated(uses), []);
    assert.deepEqual([gateway.every(2), gateway.every(3), gateway.after(4)], [4, 6, 4]);
    assert.deepEqual(describeDeprecated(uses), [
      "gateway.every: deprecated since 1.2.0, removed in 2.0.0; instead: gateway.start",
    ]);
  });
});

/** A further kind of declaration is one file: it works in every placement, and in all reports and checks. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "@svc/sdk/client";
import type { PluginInspection } from "@svc/sdk/plugins";
import { createGateway } from "../../../host/gateway.ts";
import { checkPlugin } from "../../../plugins/dev/check/check-task.ts";
import type { Finding } from "../../../plugins/dev/check/findings.ts";
import type { LiveTables } from "../../../host/kernel/kind.ts";
import { directory } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { packageAt, until } from "../carriers/scene.ts";
import { contractOf } from "./reload-scene.ts";
import badges, { committed } from "./status-badges.ts";

const KIND = fileURLToPath(new URL("./status-badges.js", import.meta.url));
const LISTED = { contributes: { "status-badge": ["mood"] }, isolation: { supports: ["host", "worker", "process"] } };
const MOOD = `let asked = 0; gateway.badge("mood", () => "fine " + ++asked); serve("say", () => "said");`;

async function scene(
  t: TestContext,
  setup: string,
  { run = "host", manifest = LISTED }: { run?: string; manifest?: object } = {},
) {
  const home = directory(t);
  const path = await packageAt(join(home, "guest"), { setup, manifest });
  const states: string[] = [];
  let live: LiveTables | undefined;
  const gateway = await createGateway({
    plugins: ["plugins", path],
    config: { plugins: { entries: { guest: { run } } } },
    stateDir: join(home, "state"),
    env: {},
    port: 0,
    auth: { mode: "none" },
    logLevel: "silent",
    kinds: [KIND],
    tap(hooks) {
      hooks.commit.tap("test", (staged) => void (live = staged.live));
      hooks.state.tap("test", ({ id, from, to }) => void (id === "guest" && states.push(`${from} -> ${to}`)));
      hooks.draining.tap("test", ({ plugin }) => void (plugin.id === "guest" && states.push("draining")));
      hooks.stopped.tap("test", ({ plugin }) => void (plugin.id === "guest" && states.push("stopped")));
    },
  });
  t.after(() => gateway.stop());
  const client = await connect({ url: gateway.url });
  t.after(() => client.close());
  return {
    gateway,
    client,
    states,
    badge: (name: string) => live?.table(badges).get(name),
    report: () => gateway.plugins().find(({ id }) => id === "guest"),
  };
}

for (const run of ["host", "worker", "process"] as const)
  describe(`a further kind in the placement ${run}`, { timeout: 120_000 }, () => {
    it("takes effect, is called, is listed and is withdrawn", async (t) => {
      committed.length = 0;
      const { gateway, client, badge, states } = await scene(t, MOOD, { run });
      assert.equal(await badge("mood")?.text(), "fine 1");
      assert.equal(badge("mood")?.owner.id, "guest");
      const inspected = (await client.request("plugins.inspect", { id: "guest" })) as PluginInspection;
      assert.deepEqual(inspected.declares["statusBadges"], [{ name: "mood" }]);
      const written = JSON.parse(readFileSync(gateway.paths.startupReport, "utf8")) as {
        plugins: { id: string; declares: PluginInspection["declares"] }[];
      };
      assert.deepEqual(written.plugins.find(({ id }) => id === "guest")?.declares["statusBadges"], [{ name: "mood" }]);
      assert.equal(gateway.holdings()["statusBadges"], 1);

      assert.equal((await gateway.reload("guest")).ok, true);
      assert.equal(await badge("mood")?.text(), "fine 1", "of the new generation");
      assert.deepEqual(committed, ["+mood", "-mood", "+mood"]);
      assert.deepEqual(states, [
        "described -> staged",
        "staged -> starting",
        "starting -> active",
        "draining",
        "stopped",
        "active -> reloading",
        "reloading -> starting",
        "starting -> active",
      ]);
    });

    it("is refused if the package does not list it, or if its name is in use", async (t) => {
      const unlisted = await scene(t, `gateway.badge("other", () => "");`, { run });
      await until(() => unlisted.report()?.state === "failed", "the refusal");
      assert.equal(
        unlisted.report()?.reason,
        'status badge other is not listed under "svc.contributes"; add "other" to svc.contributes in package.json',
      );
      const twice = await scene(t, `gateway.badge("mood", () => ""); gateway.badge("mood", () => "");`, { run });
      assert.equal(twice.report()?.reason, "plugin guest declares the status badge mood twice");
    });
  });

it("a further kind is checked by `svc plugins check`", async (t) => {
  const home = directory(t);
  const path = await packageAt(join(home, "guest"), {
    setup: `gateway.badge("x", () => ""); gateway.badge("mood", () => "");`,
    manifest: { contributes: { "status-badge": ["x", "mood", "gone"] } },
  });
  const found: Finding[] = [];
  await checkPlugin({ directory: path, config: {}, samples: {}, reloads: 1, kinds: [KIND] }, (finding) =>
    found.push(finding),
  );
  const problems = (check: string) =>
    found.find((one) => one.check === check)?.problems.map(({ level, why }) => `${level}: ${why}`);
  assert.deepEqual(problems("start"), []);
  assert.ok(
    problems("manifest")?.includes(
      'warning: svc.contributes lists "gone", but with this configuration no such status badge is declared',
    ),
  );
  assert.deepEqual(problems("contracts"), [
    "warning: badge x begins with x",
    "failed: status badge x: at /name: must not have fewer than 2 characters",
  ]);
});

it("a tap whose first argument is not the handler is refused by name", async (t) => {
  const { report } = await scene(t, `gateway.hooks.hello.tap("name", () => undefined);`);
  assert.equal(report()?.reason, "setup: tap of hello: the handler is the first argument: tap(handler, { phase })");
});

it("a module that exports no kind prevents the start and is named", async (t) => {
  const stateDir = directory(t);
  const start = createGateway({ kinds: [fileURLToPath(import.meta.url)], stateDir, env: {}, port: 0, plugins: [] });
  await assert.rejects(start, /kinds\.test\.js exports no kind of declaration; write: export default defineKind/);
});

it("a kind that throws at the commit withdraws all declarations of its plugin", async (t) => {
  const plugin = (id: string) => pluginOf(id, (gateway) => gateway.serve(contractOf(id, "ask"), { ask: () => ({}) }));
  const gateway = await createGateway({
    plugins: [plugin("clash"), plugin("shop")],
    config: {},
    stateDir: directory(t),
    env: {},
    port: 0,
    logLevel: "silent",
    tap({ commit }) {
      commit.tap("test", (staged) => {
        if (staged.plugin.id === "clash") throw new Error("no");
      });
    },
  });
  t.after(() => gateway.stop());
  const states = gateway.plugins().map(({ id, state, reason }) => [id, state, reason]);
  assert.deepEqual(states, [
    ["clash", "failed", "setup: no"],
    ["shop", "active", undefined],
  ]);
  assert.equal(gateway.holdings()["methods"], 1, "that of the other plugin");
});

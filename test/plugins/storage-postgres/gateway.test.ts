/** A gateway on PostgreSQL, and the choice of the plugin. */
// own process: it sets a variable of the environment
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sessions } from "@svc/sdk/sessions";
import { storage } from "@svc/sdk/storage";
import { testGateway } from "@svc/sdk/testing";
import { createPluginFinder } from "../../../host/kernel/load.ts";
import { planPlugins } from "../../../host/plugin-plan.ts";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";
import { emptySchema } from "../../postgres.ts";
import { svc } from "../../run-svc.ts";
import { withoutPostgres } from "./open-postgres.ts";

describe("storage-postgres takes the place of storage-sqlite", () => {
  const finder = createPluginFinder({ configDir: root, cacheDir: false, home: root } as never);
  const used = (section: object, env: Record<string, string> = {}) =>
    planPlugins(finder, section, { env })
      .sources.map((source) => ("load" in source ? source.manifest?.id : undefined))
      .filter((id) => id?.startsWith("storage-"));
  const SET = { SVC_DATABASE_URL: "postgres://localhost/x" };
  const entries = (enabled: boolean) => ({ entries: { "storage-postgres": { enabled } } });

  for (const [why, section, env, expected] of [
    ["not by default", {}, {}, ["storage-sqlite"]],
    ["not if the variable is empty", {}, { SVC_DATABASE_URL: "" }, ["storage-sqlite"]],
    ["if the variable is set", {}, SET, ["storage-postgres"]],
    ["if it is enabled", entries(true), {}, ["storage-postgres"]],
    ["not if it is disabled", entries(false), SET, ["storage-sqlite"]],
    ["also in a list that names only the other", { use: ["health", "storage-sqlite"] }, SET, ["storage-postgres"]],
    ["of a list that names both", { use: ["storage-postgres", "storage-sqlite"] }, {}, ["storage-sqlite"]],
    ["alone in a list without the variable", { use: ["storage-postgres"] }, {}, ["storage-postgres"]],
    ["not in a list without storage", { use: ["health"] }, SET, []],
  ] as const)
    it(why, () => assert.deepEqual(used(section, env), expected));

  it("an installed plugin replaces none", () => {
    const manifest = { id: "intruder", replaces: { plugin: "health", env: "PATH" } };
    const intruder = { origin: "intruder", key: "intruder", manifest, load: () => assert.fail() };
    const { sources } = planPlugins(finder, {}, { env: { PATH: "/bin" }, installed: [intruder as never] });
    const ids = sources.map((source) => ("load" in source ? source.manifest?.id : undefined));
    assert.deepEqual([ids.includes("intruder"), ids.includes("health")], [true, true]);
  });
});

describe("a gateway on PostgreSQL", { skip: withoutPostgres() }, () => {
  it("named by the configuration keeps its sessions over a restart, and shows its tables", async (t) => {
    const url = await emptySchema();
    const config = {
      plugins: { entries: { "storage-postgres": { enabled: true } } },
      "storage-postgres": { url, connections: 2 },
    };
    const plugins = ["storage-sqlite", "sessions"];
    const first = await testGateway(t, { plugins, config });
    await first.client.call(sessions.patch, { key: "main", label: "kept" });
    await first.gateway.stop();
    const second = await testGateway(t, { plugins, config });
    const { sessions: rows } = await second.client.call(sessions.list, {});
    assert.deepEqual(
      rows.map(({ label }) => label),
      ["kept"],
    );
    const { location, items, bytes } = await second.client.call(storage.usage, {});
    assert.equal(location, url.replace("svc@", "").replace("?schema=", "/"));
    assert.equal(items.find(({ id }) => id === "sessions")?.rows, 1);
    assert.ok(bytes > 0);
    const { vacuum } = await second.client.call(storage.clean, { vacuum: true });
    assert.ok(Number(vacuum?.after) > 0);
  });

  it("without an address says which setting is missing", async (t) => {
    delete process.env["SVC_DATABASE_URL"];
    const config = { plugins: { entries: { "storage-postgres": { enabled: true } } } };
    const { gateway } = await testGateway(t, { plugins: ["storage-sqlite"], config });
    const row = gateway.plugins().find(({ id }) => id === "storage-postgres");
    assert.match(
      String(row?.reason),
      /storage-postgres has no database; set SVC_DATABASE_URL or storage-postgres\.url/,
    );
  });
});

it("svc plugins why tells which plugin takes the place of which", async (t) => {
  const stateDir = directory(t, "svc-why-");
  const why = async (id: string, url: string) =>
    (await svc(stateDir, ["plugins", "why", id], { SVC_DATABASE_URL: url })).text;
  assert.match(
    await why("storage-postgres", ""),
    /not in use\n.*takes the place of storage-sqlite if SVC_DATABASE_URL is set/,
  );
  assert.match(
    await why("storage-sqlite", "postgres://localhost/x"),
    /not in use\n.*storage-postgres takes its place\nNext: unset SVC_DATABASE_URL/,
  );
  assert.match(await why("storage-postgres", "postgres://localhost/x"), /not started yet/);
});

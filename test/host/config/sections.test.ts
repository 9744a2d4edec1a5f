import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Strict, Type } from "@svc/sdk";
import { type ConfigFile, readConfigFile } from "../../../host/config/file.ts";
import {
  composeHints,
  composeSchema,
  hostConfig,
  pluginSection,
  type SectionOwner,
  unownedKeys,
} from "../../../host/config/sections.ts";
import { configFile } from "./scene.ts";

const read = (t: TestContext, value: unknown): Promise<ConfigFile> =>
  readConfigFile(configFile(t, typeof value === "string" ? value : JSON.stringify(value)).configPath, {});

describe("the host's sections", () => {
  it("are empty when the file has none", async (t) => {
    assert.deepEqual(hostConfig(await read(t, {})), { config: { gateway: {}, plugins: {}, logging: {} }, issues: [] });
  });

  it("take every key they know", async (t) => {
    const value = {
      $schema: "x",
      meta: { any: 1 },
      gateway: {
        port: 0,
        bind: "custom",
        customBindHost: "10.0.0.1",
        auth: { mode: "token", token: "t", password: "p" },
        controlUi: { allowedOrigins: ["*"] },
      },
      plugins: { use: ["a"], load: { paths: ["./b"] }, entries: { a: { enabled: false } } },
      logging: { level: "warn" },
    };
    const { config, issues } = hostConfig(await read(t, value));
    assert.deepEqual(issues, []);
    assert.deepEqual(config, { gateway: value.gateway, plugins: value.plugins, logging: value.logging });
  });

  const wrong: [why: string, value: unknown, path: string, message: RegExp][] = [
    ["a port as text", { gateway: { port: "18789" } }, "gateway.port", /must be integer/],
    ["a port out of range", { gateway: { port: 65_536 } }, "gateway.port", /<= 65535/],
    ["half a port", { gateway: { port: 1.5 } }, "gateway.port", /must be integer/],
    [
      "a mode that is none",
      { gateway: { auth: { mode: "open" } } },
      "gateway.auth.mode",
      /"token", "password", "none"/,
    ],
    ["a number as token", { gateway: { auth: { token: 1 } } }, "gateway.auth.token", /must be string/],
    ["a list as section", { gateway: [] }, "gateway", /must be object/],
    ["null as section", { gateway: null }, "gateway", /must be object/],
    ["text as section", { logging: "debug" }, "logging", /must be object/],
    ["null as key", { gateway: { auth: null } }, "gateway.auth", /must be object/],
    ["a level that is none", { logging: { level: "loud" } }, "logging.level", /must be one of "debug"/],
    ["a plugin that is no text", { plugins: { use: ["a", 1] } }, "plugins.use[1]", /must be string/],
    [
      "an entry of a path-like id",
      { plugins: { entries: { "@a/b": { enabled: 1 } } } },
      "plugins.entries.@a/b.enabled",
      /must be boolean/,
    ],
    ["an unknown key", { gateway: { prot: 1 } }, "gateway", /unexpected property 'prot'/],
    ["an unknown key further down", { gateway: { auth: { tokn: "x" } } }, "gateway.auth", /unexpected property 'tokn'/],
    ["a prototype as key", '{"gateway": {"__proto__": {"port": 1}}}', "gateway", /unexpected property '__proto__'/],
  ];
  for (const [why, value, path, message] of wrong) {
    it(`refuse ${why}, naming ${path}`, async (t) => {
      const { issues } = hostConfig(await read(t, value));
      assert.deepEqual(
        issues.map((issue) => issue.path),
        [path],
      );
      assert.match(String(issues[0]?.message), message);
    });
  }

  it("are told with what is wrong with the file itself", async (t) => {
    const { issues } = hostConfig(await read(t, { gateway: { customBindHost: "${HOST}" } }));
    assert.match(String(issues[0]?.message), /HOST is not set/);
  });
});

describe("a plugin's section", () => {
  const notes = definePlugin({
    id: "notes",
    api: "^1.0.0",
    config: Strict({
      max: Type.Integer({ default: 100 }),
      deep: Type.Optional(Strict({ list: Type.Array(Type.String()) })),
    }),
    setup() {},
  });
  const plain = definePlugin({ id: "plain", api: "^1.0.0", setup() {} });

  it("gets its defaults, and is frozen all the way down", async (t) => {
    const file = await read(t, { notes: { deep: { list: ["a"] } } });
    const section = pluginSection(notes, file);
    assert.ok("value" in section);
    const value = section.value as { max: number; deep: { list: string[] } };
    assert.deepEqual(value, { max: 100, deep: { list: ["a"] } });
    assert.throws(() => value.deep.list.push("b"), TypeError);
    assert.deepEqual(file.resolved, { notes: { deep: { list: ["a"] } } }, "the file as read is left alone");
  });

  it("lies under the key the plugin names", async (t) => {
    const renamed = definePlugin({ ...notes, section: "note" });
    const file = await read(t, { note: { max: 5 }, notes: { max: 6 } });
    assert.deepEqual(pluginSection(renamed, file), { value: { max: 5 } });
  });

  const issues: [why: string, plugin: typeof notes, value: unknown, issue: string][] = [
    ["a wrong type", notes, { notes: { max: "x" } }, "notes.max: must be integer"],
    ["null", notes, { notes: null }, "notes: must be object"],
    ["several things", notes, { notes: { max: "x", other: 1 } }, "(and 1 more)"],
    ["a section nobody asked for", plain, { plain: {} }, "plain: this plugin has no settings; take the section out"],
  ];
  for (const [why, plugin, value, issue] of issues) {
    it(`says in one line what is wrong: ${why}`, async (t) => {
      const section = pluginSection(plugin, await read(t, value));
      assert.ok("issue" in section);
      assert.ok(section.issue.includes(issue), section.issue);
      assert.ok(!section.issue.includes("\n"));
    });
  }

  it("is empty for a plugin without settings, even one named like something every object has", async (t) => {
    const file = await read(t, {});
    assert.deepEqual(pluginSection(plain, file), { value: {} });
    assert.deepEqual(pluginSection(definePlugin({ ...plain, id: "constructor" }), file), { value: {} });
  });
});

describe("top-level keys nobody reads", () => {
  const owners: SectionOwner[] = [
    { section: "notes", plugin: "notes", schema: Type.Object({}) },
    { section: "mail", plugin: "mailbox", schema: undefined },
  ];

  it("are named with the reason, and nothing else is", async (t) => {
    const file = await read(t, { $schema: "x", meta: {}, gateway: {}, notes: {}, mail: { a: 1 }, typo: 1 });
    assert.deepEqual(unownedKeys(file, owners), [
      { path: "mail", message: "not used: plugin mailbox is not running; it is kept as it is" },
      { path: "typo", message: "not used: no plugin in use has this section; it is kept as it is" },
    ]);
  });

  it("are kept in what is read", async (t) => {
    assert.deepEqual((await read(t, { typo: { deep: [1] } })).resolved, { typo: { deep: [1] } });
  });
});

describe("the composed schema", () => {
  const Notes = Strict({
    key: Type.String({ sensitive: true, title: "Key" }),
    byName: Type.Record(Type.String(), Type.Object({ pin: Type.String({ sensitive: true, description: "A pin" }) })),
    list: Type.Array(Type.Object({ pin: Type.String({ sensitive: true }) })),
    either: Type.Union([Type.Null(), Type.Object({ pin: Type.String({ sensitive: true }) })]),
    open: Type.String({ sensitive: false }),
  });
  const composed = composeSchema([
    { section: "notes", plugin: "notes", schema: Notes },
    { section: "gone", plugin: "gone", schema: undefined },
  ]);

  it("holds the host's sections and those of running plugins, and leaves the others free", () => {
    const { properties, additionalProperties } = composed as { properties: object; additionalProperties?: unknown };
    assert.deepEqual(Object.keys(properties), ["$schema", "meta", "gateway", "plugins", "logging", "notes"]);
    assert.equal(additionalProperties, undefined);
    assert.deepEqual(JSON.parse(JSON.stringify(composed)), composed, "it is plain JSON");
  });

  it("gives hints by dotted path: map entries, array items and members of a union", () => {
    const hints = composeHints(composed);
    const mine = Object.fromEntries(Object.entries(hints).filter(([path]) => path.startsWith("notes.")));
    assert.deepEqual(mine, {
      "notes.key": { label: "Key", sensitive: true },
      "notes.byName.*.pin": { help: "A pin", sensitive: true },
      "notes.list[].pin": { sensitive: true },
      "notes.either.pin": { sensitive: true },
      "notes.open": { sensitive: false },
    });
    assert.deepEqual(hints["gateway.auth.token"], { sensitive: true });
    assert.deepEqual(hints["gateway.auth.password"], { sensitive: true });
  });
});

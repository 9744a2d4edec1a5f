import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Strict, Type } from "@svc/sdk";
import { type ConfigFile, readConfigFile } from "../../../host/config/file.ts";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";
import {
  composeSchema,
  configIssues,
  effectiveConfig,
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
    const config = Object.fromEntries(Object.keys(HOST_SECTIONS).map((section) => [section, {}]));
    assert.deepEqual(hostConfig(await read(t, {})), { config, issues: [] });
  });

  it("accept every known key", async (t) => {
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
      hooks: { enabled: true, token: "h", mappings: [{ match: { path: "a" }, any: { of: 1 } }] },
      plugins: { use: ["a"], load: { paths: ["./b"] }, entries: { a: { enabled: false } } },
      logging: { level: "warn" },
    };
    const { config, issues } = hostConfig(await read(t, value));
    assert.deepEqual(issues, []);
    const { gateway, hooks, plugins, logging } = value;
    assert.deepEqual(config, { gateway, hooks, plugins, logging });
  });

  const wrong: [why: string, value: unknown, path: string, message: RegExp][] = [
    ["a port out of range", { gateway: { port: 65_536 } }, "gateway.port", /<= 65535/],
    [
      "a mode that is none",
      { gateway: { auth: { mode: "open" } } },
      "gateway.auth.mode",
      /must be one of .*"password"/,
    ],
    ["null as section", { gateway: null }, "gateway", /must be object/],
    ["a plugin that is no text", { plugins: { use: ["a", 1] } }, "plugins.use[1]", /must be string/],
    ["an entry of a path-like id", { plugins: { entries: { "@a/b": 1 } } }, "plugins.entries.@a/b", /must be object/],
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

  it("are reported together with the file's own issues", async (t) => {
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

  it("gets its defaults, and is deeply frozen", async (t) => {
    const file = await read(t, { notes: { deep: { list: ["a"] } } });
    const section = pluginSection(notes, file);
    assert.ok("value" in section);
    const value = section.value as { max: number; deep: { list: string[] } };
    assert.deepEqual(value, { max: 100, deep: { list: ["a"] } });
    assert.throws(() => value.deep.list.push("b"), TypeError);
    assert.deepEqual(file.resolved, { notes: { deep: { list: ["a"] } } }, "the file as read is left alone");
  });

  it("is at the key the plugin names", async (t) => {
    const renamed = definePlugin({ ...notes, section: "note" });
    const file = await read(t, { note: { max: 5 }, notes: { max: 6 } });
    assert.deepEqual(pluginSection(renamed, file), { value: { max: 5 }, sections: {} });
  });

  const issues: [why: string, plugin: typeof notes, value: unknown, issue: string][] = [
    ["null", notes, { notes: null }, "notes: must be object"],
    ["several things", notes, { notes: { max: "x", other: 1 } }, "(and 1 more)"],
    ["for a plugin without settings", plain, { plain: {} }, "plain: this plugin has no settings; remove the section"],
  ];
  for (const [why, plugin, value, issue] of issues) {
    it(`has a one-line issue: ${why}`, async (t) => {
      const section = pluginSection(plugin, await read(t, value));
      assert.ok("issue" in section);
      assert.ok(section.issue.includes(issue), section.issue);
      assert.ok(!section.issue.includes("\n"));
    });
  }

  it("is empty for a plugin without settings, even if named like a property of every object", async (t) => {
    const file = await read(t, {});
    assert.deepEqual(pluginSection(plain, file), { value: {}, sections: {} });
    const named = definePlugin({ ...plain, id: "constructor" });
    assert.deepEqual(pluginSection(named, file), { value: {}, sections: {} });
  });
});

describe("additional sections of a plugin", () => {
  const wide = definePlugin({
    id: "wide",
    api: "^1.0.0",
    config: Type.Object({ a: Type.Integer({ default: 1 }) }),
    sections: {
      extra: Type.Object({ b: Type.Optional(Type.Integer()), deep: Type.Array(Type.String(), { default: [] }) }),
      rules: Type.Array(Type.Object({ to: Type.String() })),
    },
    setup() {},
  });

  it("are validated, filled and frozen, and absent ones are empty", async (t) => {
    const absent = pluginSection(wide, await read(t, {}));
    assert.deepEqual(absent, { value: { a: 1 }, sections: { extra: { deep: [] }, rules: [] } });
    const given = pluginSection(wide, await read(t, { extra: { b: 2 }, rules: [{ to: "x" }] }));
    assert.deepEqual(given, { value: { a: 1 }, sections: { extra: { b: 2, deep: [] }, rules: [{ to: "x" }] } });
    assert.ok("sections" in given && Object.isFrozen(given.sections) && Object.isFrozen(given.sections["rules"]));
  });

  it("that are invalid are named, unknown keys included", async (t) => {
    const wrong = async (value: unknown) => (pluginSection(wide, await read(t, value)) as { issue: string }).issue;
    assert.match(await wrong({ rules: [{ to: 1 }] }), /^rules\[0\]\.to: must be string/);
    assert.match(await wrong({ extra: { c: 1 } }), /^extra: unexpected property 'c'/);
    assert.match(await wrong({ rules: {} }), /^rules: must be array/);
  });

  it("cannot be a section of the host, nor be claimed twice", async (t) => {
    const file = await read(t, { gateway: { port: 1 } });
    const issueOf = (key: string, section = "wide") => {
      const claim = definePlugin({ ...wide, section, sections: { [key]: Type.Object({}) } });
      return (pluginSection(claim, file) as { issue: string }).issue;
    };
    assert.match(issueOf("gateway"), /gateway: this section belongs to the gateway/);
    assert.match(issueOf("meta"), /meta: this section belongs to the gateway/);
    assert.match(issueOf("x", "plugins"), /plugins: this section belongs/);
    assert.match(issueOf("same", "same"), /same: the plugin claims this section twice/);
  });

  it("have one owner entry each; the first of two owners gets a key", async (t) => {
    const owners: SectionOwner[] = [
      { section: "extra", plugin: "wide", schema: Strict({ b: Type.Integer({ default: 7 }) }) },
      { section: "rules", plugin: "wide", schema: Type.Array(Type.String()) },
      { section: "extra", plugin: "late", schema: Strict({}) },
      { section: "gateway", plugin: "late", schema: Strict({}) },
    ];
    const file = await read(t, { gateway: { port: 1 }, rules: ["a"] });
    assert.deepEqual(configIssues(file, owners), []);
    assert.deepEqual(effectiveConfig(file, owners), { gateway: { port: 1 }, rules: ["a"], extra: { b: 7 } });
    const issues = configIssues(await read(t, { rules: "x", extra: { c: 1 } }), owners);
    assert.deepEqual(issues.map(({ path }) => path).sort(), ["extra", "rules"]);
    assert.deepEqual(unownedKeys(file, owners), []);
  });

  it("of an unusable file are not validated", async (t) => {
    const needy: SectionOwner = { section: "n", plugin: "n", schema: Strict({ key: Type.String({ minLength: 1 }) }) };
    assert.equal(configIssues(await read(t, "{"), [needy]).length, 1);
    assert.equal(configIssues(await read(t, { $include: "gone.json" }), [needy]).length, 1);
    const [issue, ...more] = configIssues(await read(t, { n: { key: "${NOBODY}" } }), [needy]);
    assert.deepEqual([issue?.path, more], ["n.key", []]);
  });
});

describe("top-level keys without an owner", () => {
  const owners: SectionOwner[] = [
    { section: "notes", plugin: "notes", schema: Type.Object({}) },
    { section: "mail", plugin: "mailbox", schema: undefined },
  ];

  it("are reported with the reason, and no others are", async (t) => {
    const file = await read(t, { $schema: "x", meta: {}, gateway: {}, notes: {}, mail: { a: 1 }, typo: 1 });
    assert.deepEqual(unownedKeys(file, owners), [
      { path: "mail", message: "not used: plugin mailbox is not running; kept unchanged" },
      { path: "typo", message: "not used: no plugin in use has this section; kept unchanged" },
    ]);
  });
});

describe("the composed schema", () => {
  const Notes = Strict({ either: Type.Union([Type.Null(), Type.Object({ pin: Type.String({ sensitive: true }) })]) });
  const composed = composeSchema([
    { section: "notes", plugin: "notes", schema: Notes },
    { section: "gone", plugin: "gone", schema: undefined },
  ]);

  it("has the sections of the host and of running plugins, and allows any others", () => {
    const { properties, additionalProperties } = composed as { properties: object; additionalProperties?: unknown };
    assert.deepEqual(Object.keys(properties), ["$schema", "meta", ...Object.keys(HOST_SECTIONS), "notes"]);
    assert.equal(additionalProperties, undefined);
    assert.deepEqual(JSON.parse(JSON.stringify(composed)), composed, "it is plain JSON");
  });
});

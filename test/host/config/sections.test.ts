/** The sections of the configuration: of the host, of plugins, and of plugins below a section of the host (`hooks.mail`). */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Strict, Type } from "@svc/sdk";
import { changedKeys, reloadKinds } from "../../../host/config/changes.ts";
import { type ConfigFile, givenConfig, readConfigFile } from "../../../host/config/file.ts";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";
import { redact, REDACTED } from "../../../host/config/redact.ts";
import {
  composeHints,
  composeSchema,
  configIssues,
  effectiveConfig,
  hostConfig,
  pluginSection,
  type SectionOwner,
  unownedKeys,
} from "../../../host/config/sections.ts";
import { describeConfig } from "../../../host/config/snapshot.ts";
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
    ["a plugin that is not text", { plugins: { use: ["a", 1] } }, "plugins.use[1]", /must be string/],
    ["an entry of a path-like id", { plugins: { entries: { "@a/b": 1 } } }, "plugins.entries.@a/b", /must be object/],
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
    assert.deepEqual(file.resolved, { notes: { deep: { list: ["a"] } } }, "the file as read is not modified");
  });

  it("is at the key the plugin names", async (t) => {
    const renamed = definePlugin({ ...notes, section: "note" });
    const file = await read(t, { note: { max: 5 }, notes: { max: 6 } });
    assert.deepEqual(pluginSection(renamed, file), { value: { max: 5 }, sections: {} });
  });

  const issues: [why: string, plugin: typeof notes, value: unknown, issue: string][] = [
    ["null", notes, { notes: null }, "notes: must be object"],
    ["several faults", notes, { notes: { max: "x", other: 1 } }, "(and 1 more)"],
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

const Mail = Strict({
  box: Type.String({ default: "inbox", description: "Which one" }),
  pushToken: Type.Optional(Type.String()),
  pin: Type.Optional(Type.String({ sensitive: true, reload: "hot" })),
});
const mail: SectionOwner = { section: "hooks.mail", plugin: "mail", schema: Mail };
const away: SectionOwner = { ...mail, schema: undefined };
const file = (hooks: unknown, more: Record<string, unknown> = {}) => givenConfig("/x/svc.json", { hooks, ...more });
const told = (issues: readonly { path: string; message: string }[]) =>
  issues.map(({ path, message }) => `${path}: ${message}`);

describe("a plugin's key at a nested open place", () => {
  const Chat = Strict({ enabled: Type.Boolean({ default: false, reload: "hot" }) });
  const chat: SectionOwner = { section: "gateway.http.endpoints.chat", plugin: "chat", schema: Chat };
  const given = (endpoints: unknown, gateway: object = {}) =>
    givenConfig("/x/svc.json", { gateway: { ...gateway, http: { endpoints } } });
  const rows: [why: string, endpoints: unknown, owners: SectionOwner[], issues: string[]][] = [
    ["right", { chat: { enabled: true } }, [chat], []],
    ["in a place that is not an object", 5, [chat], ["gateway.http.endpoints: must be object"]],
  ];
  for (const [why, endpoints, owners, issues] of rows)
    it(`${why} is ${issues.length === 0 ? "valid" : "refused by name"}`, () =>
      assert.deepEqual(told(configIssues(given(endpoints), owners)), issues));

  it("gets its defaults, is read by its plugin, and is in the schema at its path", () => {
    const { gateway } = effectiveConfig(given({ other: {} }, { port: 1 }), [chat]);
    assert.deepEqual(gateway, { port: 1, http: { endpoints: { other: {}, chat: { enabled: false } } } });
    const defaults = { gateway: { http: { endpoints: { chat: { enabled: false } } } } };
    assert.deepEqual(effectiveConfig(givenConfig("/x", {}), [chat]), defaults);
    const plugin = definePlugin({ id: "chat", api: "^1.0.0", section: chat.section, config: Chat, setup() {} });
    const section = pluginSection(plugin, given({ chat: { enabled: true } }));
    assert.deepEqual(section, { value: { enabled: true }, sections: {} });
    assert.ok(composeHints(composeSchema([chat]))["gateway.http.endpoints.chat.enabled"]);
  });
});

describe("a plugin's key below hooks", () => {
  it("is not part of the host's section", () => {
    const { config, issues } = hostConfig(file({ path: "/in", mail: { box: "a" }, other: {} }));
    assert.deepEqual([config.hooks, issues], [{ path: "/in" }, []]);
  });

  const rows: [why: string, hooks: unknown, owners: SectionOwner[], issues: RegExp[]][] = [
    ["right", { mail: { box: "a" } }, [mail], []],
    ["absent", {}, [mail], []],
    ["of a plugin that is not loaded", { mail: { any: 1 } }, [away], []],
    ["without an owner", { mail: { any: 1 } }, [], []],
    ["with a wrong value", { mail: { box: 1 } }, [mail], [/^hooks\.mail\.box: must be string/]],
    ["with an unknown key", { mail: { bx: 1 } }, [mail], [/^hooks\.mail: unexpected property 'bx'/]],
    ["that is not an object, owned", { mail: 5 }, [mail], [/^hooks\.mail: must be object/]],
    ["that is not an object, without an owner", { mail: 5 }, [], [/^hooks: unexpected property 'mail'/]],
    ["called internal", { internal: { on: true } }, [], []],
    ["called like a prototype", { ["__proto__"]: {} }, [], [/^hooks: unexpected property '__proto__'/]],
    ["next to an invalid key of the host", { mail: {}, path: 1 }, [mail], [/^hooks\.path: must be string/]],
  ];
  for (const [why, hooks, owners, issues] of rows) {
    it(`${why} is ${issues.length === 0 ? "valid" : "refused by name"}`, () => {
      const found = told(configIssues(file(hooks), owners));
      assert.equal(found.length, issues.length, found.join("; "));
      for (const [index, pattern] of issues.entries()) assert.match(String(found[index]), pattern);
    });
  }

  it("that no plugin reads is kept, and reported with the reason", () => {
    const given = file({ mail: {}, other: {}, path: "/x" }, { gone: 1 });
    assert.deepEqual(told(unownedKeys(given, [away])), [
      "gone: not used: no plugin in use has this section; kept unchanged",
      "hooks.mail: not used: plugin mail is not running; kept unchanged",
      "hooks.other: not used: no plugin in use has this section; kept unchanged",
    ]);
    assert.deepEqual(told(unownedKeys(file({ mail: {} }), [mail])), []);
    const without = told(unownedKeys(file({ internal: {} }), []));
    assert.deepEqual(without, [], "svc config validate reports keys without effect");
  });

  it("gets its defaults, next to the host's keys", () => {
    const effective = (hooks: unknown) => effectiveConfig(file(hooks), [mail]);
    assert.deepEqual(effective({ path: "/in" }), { hooks: { path: "/in", mail: { box: "inbox" } } });
    assert.deepEqual(effectiveConfig(givenConfig("/x", {}), [mail]), { hooks: { mail: { box: "inbox" } } });
    assert.deepEqual(effective({ mail: { box: "b" } }), { hooks: { mail: { box: "b" } } });
    assert.deepEqual(effective(5), { hooks: 5 });
    assert.deepEqual(effectiveConfig(file({ mail: { x: 1 } }), [away]), { hooks: { mail: { x: 1 } } });
  });

  it("has the reload kind of its own schema, not of the host's", () => {
    const kinds = (before: unknown, after: unknown, owners: SectionOwner[]) => {
      const changed = changedKeys(effectiveConfig(file(before), owners), effectiveConfig(file(after), owners));
      return Object.fromEntries(reloadKinds(changed, owners));
    };
    const after = { path: "/b", mail: { box: "b", pin: "1" } };
    assert.deepEqual(kinds({ path: "/a" }, after, [mail]), {
      "hooks.path": "hot",
      "hooks.mail.box": "plugin",
      "hooks.mail.pin": "hot",
    });
    assert.deepEqual(kinds({}, { mail: { box: "b" } }, [away]), { "hooks.mail.box": "hot" });
    assert.deepEqual(kinds({ mail: { a: 1 } }, {}, []), { "hooks.mail.a": "hot" });
  });

  it("is part of the composed schema and has hints; unknown keys stay allowed", () => {
    const owners = [mail, { ...mail, plugin: "late", schema: Strict({}) }, away];
    const { properties } = composeSchema(owners) as { properties: { hooks: Record<string, unknown> } };
    const { properties: keys, additionalProperties } = properties.hooks as Record<string, Record<string, unknown>>;
    assert.deepEqual(keys?.["mail"], JSON.parse(JSON.stringify(Mail)));
    assert.ok(keys?.["mappings"]);
    assert.equal(additionalProperties, undefined);
    const hints = composeHints(composeSchema(owners));
    assert.equal(hints["hooks.mail.box"]?.help, "Which one");
    assert.equal(hints["hooks.mail.pin"]?.sensitive, true);
  });

  it("has its secrets hidden, also while its plugin is not loaded", async () => {
    const given = file({ token: "S1", mail: { pin: "S2", pushToken: "S3", box: "b" } });
    const { config } = await describeConfig(given, [mail], composeHints(composeSchema([mail])));
    assert.deepEqual(Object.keys((config as { hooks: object }).hooks).sort(), ["mail", "token"]);
    assert.doesNotMatch(JSON.stringify(config), /S[123]/);
    assert.doesNotMatch(JSON.stringify(redact(given.resolved, composeHints(composeSchema([])))), /S[13]/);
  });
});

describe("a plugin that claims a key below hooks", () => {
  const claim = (section: string, more = {}) =>
    definePlugin({ id: "mail", api: "^1.0.0", section, config: Mail, setup() {}, ...more });

  it("receives it as its section, or as an additional one", () => {
    const given = file({ mail: { box: "b" }, path: "/x" });
    assert.deepEqual(pluginSection(claim("hooks.mail"), given), { value: { box: "b" }, sections: {} });
    const further = definePlugin({ id: "mail", api: "^1.0.0", sections: { "hooks.mail": Mail }, setup() {} });
    assert.deepEqual(pluginSection(further, given), { value: {}, sections: { "hooks.mail": { box: "b" } } });
    const absent = pluginSection(claim("hooks.mail"), givenConfig("/x", {}));
    assert.deepEqual(absent, { value: { box: "inbox" }, sections: {} });
    const wrong = pluginSection(claim("hooks.mail"), file({ mail: { box: 1 } }));
    assert.deepEqual(wrong, { issue: "hooks.mail.box: must be string" });
  });

  const refused: [section: string, why: RegExp][] = [
    ["hooks", /belongs to the gateway/],
    ["hooks.path", /belongs to the gateway/],
    ["hooks.internal", /belongs to the gateway/],
    ["hooks.", /belongs to the gateway/],
    ["hooks.__proto__", /belongs to the gateway/],
    ["hooks.mail.deep", /only direct keys/],
    ["gateway.auth", /belongs to the gateway/],
    ["gateway.http", /belongs to the gateway/],
    ["gateway.http.endpoints", /only direct keys/],
    ["gateway.http.endpoints.mail.deep", /only direct keys/],
    ["gateway.http.more", /only direct keys/],
    ["logging.mail", /belongs to the gateway/],
  ];
  for (const [section, why] of refused) {
    it(`cannot have ${section}`, () => {
      const settings = pluginSection(claim(section), file({}));
      assert.ok("issue" in settings && why.test(settings.issue), JSON.stringify(settings));
      const owner = { section, plugin: "mail", schema: Mail };
      assert.deepEqual(configIssues(file({ path: "/x", mappings: [] }), [owner]), []);
      assert.deepEqual(effectiveConfig(file({ path: "/x" }), [owner]), { hooks: { path: "/x" } });
      assert.deepEqual(composeSchema([owner]), composeSchema([]));
    });
  }
});

describe("keys of mappings that actions of plugins have", () => {
  const Run = Type.Object({
    ask: Type.Optional(Type.String()),
    key: Type.Optional(Type.String({ sensitive: true })),
    mode: Type.Optional(Type.Enum(["now"])),
  });
  const Note = Type.Object({ note: Type.Optional(Type.String()), mode: Type.Optional(Type.Enum(["now", "later"])) });
  const run: SectionOwner = { section: "hooks.mappings[run]", plugin: "runs", schema: Run };
  const note: SectionOwner = { section: "hooks.mappings[note]", plugin: "notes", schema: Note };
  const OTHER_ACTION = "hooks.mappings[0]: unexpected property 'note', which is a key of the action \"note\"";
  const rows: [why: string, mapping: unknown, owners: SectionOwner[], issues: string[]][] = [
    ["those of its action", { action: "run", ask: "a", key: "k", mode: "now" }, [run, note], []],
    ["those of any action if none is named", { ask: "a", note: "b", mode: "later" }, [run, note], []],
    ["no unknown one", { action: "run", aks: "a" }, [run, note], ["hooks.mappings[0]: unexpected property 'aks'"]],
    ["no unknown one without an action", { aks: "a" }, [run], ["hooks.mappings[0]: unexpected property 'aks'"]],
    ["none of another action", { action: "run", note: "a" }, [run, note], [OTHER_ACTION]],
    ["any with a transform", { action: "run", note: "a", other: 1, transform: { module: "a.ts" } }, [run, note], []],
    ["no other value", { action: "run", mode: "later" }, [run, note], ['hooks.mappings[0].mode: must be one of "now"']],
    ["any of an action that claims none", { action: "file", title: "a" }, [run, note], []],
    [
      "any while its plugin is not loaded",
      { action: "run", ask: 1, other: 2 },
      [{ ...run, schema: undefined }, note],
      [],
    ],
    ["any if no plugin claims one", { ask: 1 }, [], []],
  ];
  for (const [why, mapping, owners, issues] of rows)
    it(`may be ${why}`, () => {
      assert.deepEqual(told(configIssues(file({ mappings: [mapping] }), owners)), issues);
    });

  it("are part of the mappings' schema, and have hints", () => {
    const hints = composeHints(composeSchema([run, note]));
    assert.equal(hints["hooks.mappings[].key"]?.sensitive, true);
    assert.ok(hints["hooks.mappings[].note"] && hints["hooks.mappings[].match.path"]);
    const shown = redact(file({ mappings: [{ key: "S1", ask: "a" }] }).resolved, hints);
    assert.deepEqual(shown, { hooks: { mappings: [{ key: REDACTED, ask: "a" }] } });
    assert.match(JSON.stringify(composeSchema([run, note])), /"mode":\{"anyOf":\[[^\]]*"now"\][^\]]*"now","later"\]/);
  });

  it("are not a section with its own value", () => {
    const plugin = definePlugin({ id: "runs", api: "^1.0.0", sections: { "hooks.mappings[run]": Run }, setup() {} });
    assert.deepEqual(pluginSection(plugin, file({})), { value: {}, sections: { "hooks.mappings[run]": {} } });
    assert.deepEqual(effectiveConfig(file({ path: "/x" }), [run]), { hooks: { path: "/x" } });
  });
});

describe("a key that plugins share", () => {
  const claim = (id: string) => definePlugin({ id, api: "^1.0.0", section: `chats.${id}`, config: Mail, setup() {} });
  const post: SectionOwner = { section: "chats.post", plugin: "post", schema: Mail };
  const owners: SectionOwner[] = [{ ...post, section: "chats.mail", plugin: "mail" }, post];
  const given = (chats: unknown) => givenConfig("/x/svc.json", { chats });

  it("gives each its own part, with defaults and hints", () => {
    const file = given({ mail: { box: "a" }, post: { box: "b" } });
    assert.deepEqual(pluginSection(claim("post"), file), { value: { box: "b" }, sections: {} });
    assert.deepEqual(effectiveConfig(given({ mail: { box: "a" } }), owners), {
      chats: { mail: { box: "a" }, post: { box: "inbox" } },
    });
    const hints = composeHints(composeSchema(owners));
    assert.equal(hints["chats.post.pin"]?.sensitive, true);
    assert.deepEqual(told(configIssues(given({ post: { box: 1 } }), owners)), ["chats.post.box: must be string"]);
  });

  it("reports parts that no plugin reads, and keeps them", () => {
    const rest = "kept unchanged";
    assert.deepEqual(told(unownedKeys(given({ post: {}, other: {}, word: 1 }), [{ ...post, schema: undefined }])), [
      `chats.post: not used: plugin post is not running; ${rest}`,
      `chats.other: not used: no plugin in use has this section; ${rest}`,
      `chats.word: not used: no plugin in use has this section; ${rest}`,
    ]);
    assert.deepEqual(told(unownedKeys(given(5), owners)), [
      `chats: not used: no plugin in use has this section; ${rest}`,
    ]);
  });

  it("changes one plugin at a time", () => {
    const before = given({ mail: { box: "a" } });
    const after = given({ mail: { box: "a", pin: "1" }, post: { box: "b" } });
    const changed = changedKeys(effectiveConfig(before, owners), effectiveConfig(after, owners));
    assert.deepEqual(Object.fromEntries(reloadKinds(changed, owners)), {
      "chats.mail.pin": "hot",
      "chats.post.box": "plugin",
    });
  });

  it("belongs to the plugin that owns the whole key, if any", () => {
    const all = Type.Object({ post: Type.Optional(Type.Any()) });
    const both: SectionOwner[] = [post, { section: "chats", plugin: "chats", schema: all }];
    assert.deepEqual(configIssues(given({ post: { box: 1 } }), both), []);
    assert.deepEqual(effectiveConfig(given({}), both), { chats: {} });
    assert.deepEqual((composeSchema(both)["properties"] as Record<string, unknown>)["chats"], structuredClone(all));
  });

  for (const section of ["chats.", ".post", "chats.__proto__", "__proto__.post", "chats.post.deep", "$schema.post"]) {
    it(`cannot be claimed as ${section}`, () => {
      const plugin = definePlugin({ id: "post", api: "^1.0.0", section, config: Mail, setup() {} });
      assert.ok("issue" in pluginSection(plugin, given({})));
      assert.deepEqual(composeSchema([{ ...post, section }]), composeSchema([]));
    });
  }
});

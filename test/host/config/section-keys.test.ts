/** Sections of plugins below a section of the host: `hooks.mail`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, Strict, Type } from "@svc/sdk";
import { changedKeys, reloadKinds } from "../../../host/config/changes.ts";
import { givenConfig } from "../../../host/config/file.ts";
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
    ["with a wrong value", { chat: { enabled: 1 } }, [chat], ["gateway.http.endpoints.chat.enabled: must be boolean"]],
    ["with an unknown key", { chat: { x: 1 } }, [chat], ["gateway.http.endpoints.chat: unexpected property 'x'"]],
    ["that is no object", { chat: 5 }, [chat], ["gateway.http.endpoints.chat: must be object"]],
    ["in a place that is no object", 5, [chat], ["gateway.http.endpoints: must be object"]],
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

  it("has the reload kind of its schema, and is reported if no plugin reads it", () => {
    const path = ["gateway", "http", "endpoints", "chat", "enabled"];
    assert.deepEqual([...reloadKinds([path], [chat])], [["gateway.http.endpoints.chat.enabled", "hot"]]);
    assert.deepEqual(told(unownedKeys(given({ chat: {} }), [])), [
      "gateway.http.endpoints.chat: not used: no plugin in use has this section; kept unchanged",
    ]);
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
    ["of a plugin that is away", { mail: { any: 1 } }, [away], []],
    ["of nobody", { mail: { any: 1 } }, [], []],
    ["with a wrong value", { mail: { box: 1 } }, [mail], [/^hooks\.mail\.box: must be string/]],
    ["with an unknown key", { mail: { bx: 1 } }, [mail], [/^hooks\.mail: unexpected property 'bx'/]],
    ["that is no object, owned", { mail: 5 }, [mail], [/^hooks\.mail: must be object/]],
    ["that is no object, of nobody", { mail: 5 }, [], [/^hooks: unexpected property 'mail'/]],
    ["called internal", { internal: { on: true } }, [], []],
    ["called like a prototype", { ["__proto__"]: {} }, [], [/^hooks: unexpected property '__proto__'/]],
    ["beside a wrong one of the host", { mail: {}, path: 1 }, [mail], [/^hooks\.path: must be string/]],
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
    assert.deepEqual(without, [], "what has no effect is told by svc config validate");
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
    ["without an action those of any", { ask: "a", note: "b", mode: "later" }, [run, note], []],
    ["no unknown one", { action: "run", aks: "a" }, [run, note], ["hooks.mappings[0]: unexpected property 'aks'"]],
    ["no unknown one without an action", { aks: "a" }, [run], ["hooks.mappings[0]: unexpected property 'aks'"]],
    ["none of another action", { action: "run", note: "a" }, [run, note], [OTHER_ACTION]],
    ["any with a transform", { action: "run", note: "a", other: 1, transform: { module: "a.ts" } }, [run, note], []],
    ["no other value", { action: "run", mode: "later" }, [run, note], ['hooks.mappings[0].mode: must be one of "now"']],
    ["any of an action that claims none", { action: "file", title: "a" }, [run, note], []],
    ["any while its plugin is away", { action: "run", ask: 1, other: 2 }, [{ ...run, schema: undefined }, note], []],
    ["any while nobody claims one", { ask: 1 }, [], []],
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

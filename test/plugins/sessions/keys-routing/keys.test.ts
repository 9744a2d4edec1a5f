import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { array, assert as check, constantFrom, oneof, property, string } from "fast-check";
import {
  agentOf,
  canonicalKey,
  channelOf,
  chatTypeOf,
  isCronRun,
  kindOf,
  type KeyRules,
  mainSessionKey,
  MAX_KEY_CHARS,
  parseKey,
} from "../../../../plugins/sessions/keys-routing/keys.ts";

const rules: KeyRules = { defaultAgentId: "main", mainKey: "main", scope: "per-sender" };
const own: KeyRules = { ...rules, defaultAgentId: "ada", mainKey: "home" };
const global: KeyRules = { ...own, scope: "global" };

describe("canonicalKey", () => {
  const rows: [given: string, rules: KeyRules, canonical: string][] = [
    ["foo", rules, "agent:main:foo"],
    ["  Foo ", rules, "agent:main:foo"],
    ["foo", own, "agent:ada:foo"],
    ["global", rules, "global"],
    ["UNKNOWN", rules, "unknown"],
    ["main", rules, "agent:main:main"],
    ["", rules, "agent:main:main"],
    [" \n", own, "agent:ada:home"],
    ["main", own, "agent:ada:home"],
    ["Home", own, "agent:ada:home"],
    ["main", global, "global"],
    ["home", global, "global"],
    ["agent:Bob:Main", own, "agent:bob:home"],
    ["agent:bob:home", own, "agent:bob:home"],
    ["agent:bob:home", rules, "agent:bob:home"],
    ["agent:bob:main", global, "global"],
    ["agent:bob:home", global, "global"],
    ["agent:bob:global", rules, "agent:bob:global"],
    ["agent:bob:Telegram:Group:-100", rules, "agent:bob:telegram:group:-100"],
    ["agent:bob::foo:", rules, "agent:bob:foo"],
    ["hook: x ", rules, "agent:main:hook:x"],
    ["agent", rules, "agent:main:agent"],
    ["cafe\u0301", rules, "agent:main:caf\u00e9"],
    ["x".repeat(MAX_KEY_CHARS - 11), rules, `agent:main:${"x".repeat(MAX_KEY_CHARS - 11)}`],
  ];
  for (const [given, rules, canonical] of rows) {
    it(`makes ${JSON.stringify(canonical.slice(0, 60))} of ${JSON.stringify(given.slice(0, 60))} (main key ${rules.mainKey}, ${rules.scope})`, () =>
      assert.equal(canonicalKey(given, rules), canonical));
  }

  const refusals: [why: string, given: string][] = [
    ["an agent key without an agent", "agent:"],
    ["an agent key without a rest", "agent:bob"],
    ["an agent key with an empty rest", "agent:bob: :"],
    ["an agent id with other characters", "agent:b b:foo"],
    ["an agent id that starts with a dash", "agent:-b:foo"],
    ["an agent id of 65 characters", `agent:${"b".repeat(65)}:foo`],
    ["only colons", "::"],
    ["U+0000", "foo\0bar"],
    ["a line break inside", "foo\nbar"],
    ["half a surrogate pair", "foo\ud800"],
    ["a key that is too long", "x".repeat(MAX_KEY_CHARS + 1)],
    ["a key that is too long with its prefix", "x".repeat(MAX_KEY_CHARS - 10)],
  ];
  for (const [why, given] of refusals) {
    it(`refuses ${why}`, () => assert.throws(() => canonicalKey(given, rules), { code: "INVALID_REQUEST" }));
  }

  it("changes nothing when applied twice, or refuses", () => {
    const part = constantFrom("agent", "main", "home", "global", ":", " ", "Bob", "group", "İ", "ẞ", "é", "x");
    const key = oneof(
      string({ unit: "grapheme" }),
      array(part).map((parts) => parts.join("")),
    );
    check(
      property(key, constantFrom(rules, own, global), (key, rules) => {
        let once: string;
        try {
          once = canonicalKey(key, rules);
        } catch (thrown) {
          assert.equal((thrown as { code?: string }).code, "INVALID_REQUEST");
          return;
        }
        assert.equal(canonicalKey(once, rules), once);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the facts in a canonical key", () => {
  it("names the main session of an agent", () => {
    assert.equal(mainSessionKey(own), "agent:ada:home");
    assert.equal(mainSessionKey(own, "bob"), "agent:bob:home");
    assert.equal(mainSessionKey(global, "bob"), "global");
  });

  it("has an agent and a rest, except for special keys", () => {
    assert.deepEqual(parseKey("agent:bob:a:b"), { agentId: "bob", rest: "a:b" });
    assert.equal(parseKey("global"), undefined);
    assert.equal(agentOf("agent:bob:a", own), "bob");
    assert.equal(agentOf("unknown", own), "ada");
  });

  const rows: [key: string, kind: string, chatType: string | undefined, channel: string | undefined][] = [
    ["agent:a:main", "direct", undefined, undefined],
    ["global", "global", undefined, undefined],
    ["unknown", "unknown", undefined, undefined],
    ["agent:a:direct:bob", "direct", "direct", undefined],
    ["agent:a:irc:dm:bob", "direct", "direct", "irc"],
    ["agent:a:irc:work:direct:bob", "direct", "direct", "irc"],
    ["agent:a:irc:group:7:topic:3", "group", "group", "irc"],
    ["agent:a:slack:channel:c1:thread:9", "group", "channel", "slack"],
    ["agent:a:openai-user:group", "direct", undefined, undefined],
    ["agent:a:subagent:1", "direct", undefined, undefined],
  ];
  for (const [key, kind, chatType, channel] of rows) {
    it(`reads ${key}: ${kind}, ${chatType}, ${channel}`, () =>
      assert.deepEqual([kindOf(key), chatTypeOf(key), channelOf(key)], [kind, chatType, channel]));
  }

  it("has the kind group if the entry says so", () => {
    assert.equal(kindOf("agent:a:foo", "channel"), "group");
    assert.equal(kindOf("global", "group"), "global");
  });

  it("belongs to a run of a scheduled job only in the form cron:<job>:run:<id>", () => {
    assert.equal(isCronRun("agent:a:cron:j1:run:s1"), true);
    assert.equal(isCronRun("agent:a:cron:j1"), false);
    assert.equal(isCronRun("agent:a:x:cron:j1:run:s1"), false);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assert as check, constantFrom, property, record, stringMatching } from "fast-check";
import { matches, withDefaults } from "@svc/sdk";
import type { InboundAddress } from "@svc/sdk/sessions";
import { type Binding, Bindings } from "../../../../plugins/sessions/config.ts";
import { type DmScope, inboundKey, linkedName } from "../../../../plugins/sessions/keys-routing/inbound-keys.ts";
import {
  canonicalKey,
  chatTypeOf,
  isThread,
  subagentDepth,
  threadParent,
} from "../../../../plugins/sessions/keys-routing/keys.ts";
import { routeInbound, type RoutingRules } from "../../../../plugins/sessions/keys-routing/routing.ts";

const base = {
  defaultAgentId: "main",
  mainKey: "main",
  scope: "per-sender",
  dmScope: "main",
  bindings: [],
  agents: undefined,
} as const satisfies RoutingRules;

const dm = (id: string, more: Partial<InboundAddress> = {}): InboundAddress => ({
  channel: "irc",
  peer: { kind: "direct", id },
  ...more,
});
const room = (kind: "group" | "channel", id: string, more: Partial<InboundAddress> = {}): InboundAddress => ({
  channel: "irc",
  peer: { kind, id },
  ...more,
});

describe("the key of an inbound message", () => {
  const scopes: [dmScope: DmScope, key: string][] = [
    ["main", "agent:ada:main"],
    ["per-peer", "agent:ada:direct:bob"],
    ["per-channel-peer", "agent:ada:irc:direct:bob"],
    ["per-account-channel-peer", "agent:ada:irc:work:direct:bob"],
  ];
  for (const [dmScope, key] of scopes) {
    it(`of a direct message with dmScope ${dmScope} is ${key}, or the main one without a sender`, () => {
      const rules = { ...base, dmScope };
      assert.equal(inboundKey(dm("Bob", { accountId: "Work" }), "ada", rules), key);
      assert.equal(inboundKey(dm(" "), "ada", rules), "agent:ada:main");
    });
  }

  const parentPeer = { kind: "channel", id: "C1" } as const;
  const threadRoom = room("channel", "T2", { threadId: "T2", guildId: "g", parentPeer });
  const rows: [what: string, inbound: InboundAddress, key: string][] = [
    ["a message without peer", { channel: "irc" }, "agent:ada:main"],
    ["a group", room("group", "-100"), "agent:ada:irc:group:-100"],
    ["a room", room("channel", "C1"), "agent:ada:irc:channel:c1"],
    ["a group without id", room("group", ""), "agent:ada:irc:group:unknown"],
    ["a group of no channel", { channel: " ", peer: { kind: "group", id: "1" } }, "agent:ada:unknown:group:1"],
    ["a forum topic", room("group", "-100", { threadId: "7" }), "agent:ada:irc:group:-100:topic:7"],
    ["a thread of a room", room("channel", "C1", { threadId: "T2" }), "agent:ada:irc:channel:c1:thread:t2"],
    ["a thread of a team", room("group", "G1", { threadId: "T2", teamId: "T" }), "agent:ada:irc:group:g1:thread:t2"],
    ["a thread of the main session", dm("bob", { threadId: "T" }), "agent:ada:main:thread:t"],
    ["a thread that is a room of its own", threadRoom, "agent:ada:irc:channel:c1:thread:t2"],
  ];
  for (const [what, inbound, key] of rows) {
    it(`of ${what} is ${key}`, () => assert.equal(inboundKey(inbound, "ada", base), key));
  }

  it("is global for direct messages in the global scope, but not for rooms", () => {
    const rules = { ...base, scope: "global" } as const;
    assert.equal(inboundKey(dm("bob"), "ada", rules), "global");
    assert.equal(inboundKey(room("group", "1"), "ada", rules), "agent:ada:irc:group:1");
    assert.equal(inboundKey(dm("bob", { threadId: "9" }), "ada", rules), "agent:ada:main:thread:9");
  });

  it("uses the name in identity links, for direct messages only", () => {
    const identityLinks = { alice: ["IRC:al", "12345"], Bob: ["robert"] };
    const rules = { ...base, dmScope: "per-peer", identityLinks } as const;
    assert.equal(inboundKey(dm("AL"), "ada", rules), "agent:ada:direct:alice");
    assert.equal(inboundKey(dm("12345", { channel: "sms" }), "ada", rules), "agent:ada:direct:alice");
    assert.equal(inboundKey(dm("al", { channel: "sms" }), "ada", rules), "agent:ada:direct:al");
    assert.equal(inboundKey(dm("Robert"), "ada", rules), "agent:ada:direct:bob");
    assert.equal(inboundKey(dm("al"), "ada", { ...rules, dmScope: "main" }), "agent:ada:main");
    assert.equal(inboundKey(room("group", "12345"), "ada", rules), "agent:ada:irc:group:12345");
    assert.equal(linkedName("irc", "nobody", identityLinks), undefined);
  });

  it("is canonical, whatever the ids", () => {
    const id = stringMatching(/^[\p{L}\p{N} :@#+._!-]{0,40}$/u);
    const inbound = record({
      channel: id,
      accountId: id,
      threadId: id,
      peer: record({ kind: constantFrom("direct" as const, "group" as const, "channel" as const), id }),
    });
    const dmScope = constantFrom(...scopes.map(([scope]) => scope));
    check(
      property(inbound, dmScope, constantFrom("per-sender" as const, "global" as const), (given, dmScope, scope) => {
        const rules = { ...base, dmScope, scope };
        const key = inboundKey(given, "ada", rules);
        assert.equal(canonicalKey(key, rules), key);
      }),
    );
  });

  it("refuses ids that a key cannot hold", () => {
    assert.throws(() => inboundKey(room("group", "a\u0000b"), "ada", base), { code: "INVALID_REQUEST" });
    assert.throws(() => inboundKey(room("group", "x".repeat(600)), "ada", base), { code: "INVALID_REQUEST" });
  });
});

describe("ids and parts of keys", () => {
  const parents: [key: string, parent: string | undefined][] = [
    ["agent:a:irc:channel:c:thread:t", "agent:a:irc:channel:c"],
    ["agent:a:irc:group:g:topic:7", "agent:a:irc:group:g"],
    ["agent:a:x:thread:1:thread:2", "agent:a:x:thread:1"],
    ["agent:a:irc:group:g", undefined],
  ];
  it("have a parent if they are threads", () => {
    for (const [key, parent] of parents)
      assert.deepEqual([threadParent(key), isThread(key)], [parent, parent !== undefined]);
  });

  const depths: [key: string, depth: number][] = [
    ["agent:a:main", 0],
    ["agent:a:subagent", 0],
    ["agent:a:subagent:1", 1],
    ["agent:a:subagent:1:subagent:2", 2],
    ["global", 0],
  ];
  for (const [key, depth] of depths) it(`counts ${depth} of ${key}`, () => assert.equal(subagentDepth(key), depth));

  it("reads the old name dm as direct", () => assert.equal(chatTypeOf("agent:a:irc:dm:bob"), "direct"));
});

describe("bindings", () => {
  const to = (agentId: string, match: Partial<Binding["match"]> = {}): Binding => ({
    agentId,
    match: { channel: "irc", ...match },
  });
  const all: readonly Binding[] = [
    to("by-channel", { accountId: "*" }),
    to("by-account", { accountId: "work" }),
    to("by-omitted-account"),
    to("by-team", { accountId: "*", teamId: "T" }),
    to("by-guild", { accountId: "*", guildId: "G" }),
    to("by-roles", { accountId: "*", guildId: "G", roles: ["r1", "r2"] }),
    to("by-peer", { accountId: "*", peer: { kind: "group", id: "1" } }),
    to("elsewhere", { channel: "sms", accountId: "*" }),
  ];
  const rules = { ...base, bindings: all };

  const parentPeer = { kind: "channel", id: "1" } as const;
  const ofGuild = (...roles: string[]) => ({ guildId: "g", roles });
  const rows: [what: string, inbound: InboundAddress, agentId: string, matchedBy: string][] = [
    ["a peer", room("group", "1", { guildId: "G", roles: ["r1"] }), "by-peer", "binding.peer"],
    ["a peer of the other kind of room", room("channel", "1"), "by-peer", "binding.peer"],
    ["a parent peer", room("channel", "t", { parentPeer, ...ofGuild("r1") }), "by-peer", "binding.peer.parent"],
    ["a guild and a role", room("channel", "9", ofGuild("x", "r2")), "by-roles", "binding.guild+roles"],
    ["a guild without the role", room("channel", "9", ofGuild("x")), "by-guild", "binding.guild"],
    ["a team", room("channel", "9", { teamId: "T" }), "by-team", "binding.team"],
    ["an account", dm("bob", { accountId: "Work" }), "by-account", "binding.account"],
    ["the default account", dm("bob"), "by-omitted-account", "binding.account"],
    ["any account", dm("bob", { accountId: "other" }), "by-channel", "binding.channel"],
    ["a channel without bindings", dm("bob", { channel: "matrix" }), "main", "default"],
    ["a direct peer with the id of a group", dm("1"), "by-omitted-account", "binding.account"],
  ];
  for (const [what, inbound, agentId, matchedBy] of rows) {
    it(`sends ${what} to ${agentId} by ${matchedBy}`, () => {
      const route = routeInbound(inbound, rules);
      assert.deepEqual([route.agentId, route.matchedBy], [agentId, matchedBy]);
    });
  }

  const route = (bindings: readonly Binding[], inbound: InboundAddress, more: Partial<RoutingRules> = {}) =>
    routeInbound(inbound, { ...base, bindings, ...more });

  it("select the first binding of a tier", () =>
    assert.equal(route([to("one", { accountId: "*" }), to("two", { accountId: "*" })], dm("b")).agentId, "one"));

  it("match only if all their fields match", () => {
    const peer = { kind: "channel", id: "1" } as const;
    const both = [to("both", { accountId: "*", peer, guildId: "G" })];
    assert.equal(route(both, room("channel", "1", { guildId: "H" })).matchedBy, "default");
    assert.equal(route(both, room("channel", "1", { guildId: "G" })).matchedBy, "binding.peer");
    const roles = [to("roles", { accountId: "*", roles: ["r"] })];
    assert.equal(route(roles, dm("b")).matchedBy, "default");
    assert.equal(route(roles, dm("b", { roles: ["r"] })).matchedBy, "binding.channel");
  });

  it("read the old kind dm, and never match an empty id", () => {
    const peer = (kind: "dm" | "direct", id: string) => [to("x", { accountId: "*", peer: { kind, id } })];
    assert.equal(route(peer("dm", "BOB"), dm("bob")).matchedBy, "binding.peer");
    assert.equal(route(peer("direct", " "), dm(" ")).matchedBy, "default");
  });

  it("fall back to the default agent for an unknown agent, unless no agents are listed", () => {
    const ada = { id: "ada", isDefault: true, workspace: "/w" };
    const known = { has: (id: string) => id === "ada", list: () => [ada] };
    const more = { defaultAgentId: "ada" };
    assert.equal(route([to("eve")], dm("b"), { ...more, agents: known }).agentId, "ada");
    assert.equal(route([to("ADA")], dm("b"), { ...more, agents: known }).agentId, "ada");
    assert.equal(route([to("eve")], dm("b"), { ...more, agents: { has: () => false, list: () => [] } }).agentId, "eve");
    assert.equal(route([to("Eve!")], dm("b"), more).agentId, "eve");
  });

  it("return the whole route", () => {
    const inbound = room("group", "7", { channel: " IRC ", accountId: "A b" });
    assert.deepEqual(route([to("eve", { accountId: "*" })], inbound), {
      agentId: "eve",
      channel: "irc",
      accountId: "a-b",
      sessionKey: "agent:eve:irc:group:7",
      mainSessionKey: "agent:eve:main",
      matchedBy: "binding.channel",
    });
  });

  it("are none without the section, and refuse other kinds of peers", () => {
    assert.deepEqual(withDefaults(Bindings, undefined), []);
    assert.ok(matches(Bindings, all));
    assert.ok(!matches(Bindings, [{ agentId: "a", match: { channel: "irc", peer: { kind: "room", id: "1" } } }]));
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { groupsOf, subagentDepth } from "../../../plugins/tools/session-place.ts";

describe("the group of a session", () => {
  const rows: readonly (readonly [
    key: string,
    group: readonly [channel: string, id: string, thread?: string] | undefined,
  ])[] = [
    ["agent:main:main", undefined],
    ["global", undefined],
    ["agent:main:irc:direct:ada", undefined],
    ["agent:main:direct:ada", undefined],
    ["agent:main:group:team", undefined],
    ["agent:main:irc:group:#team", ["irc", "#team"]],
    ["agent:main:irc:channel:#team", ["irc", "#team"]],
    ["agent:main:irc:group:a:b", ["irc", "a:b"]],
    ["agent:main:irc:group:#team:topic:5", ["irc", "#team", "5"]],
    ["agent:main:irc:channel:#team:thread:5", ["irc", "#team", "5"]],
    ["agent:main:irc:work:group:#team", undefined],
    ["agent:main:subagent:irc:group:#team", ["irc", "#team"]],
    ["agent:main:subagent:4f", undefined],
    ["irc:group:#team", undefined],
  ];
  for (const [key, group] of rows) {
    it(`${key}: ${group?.join(" ") ?? "none"}`, () => {
      const [channel, groupId, threadId] = group ?? [];
      const thread = threadId === undefined ? {} : { threadId };
      assert.deepEqual(groupsOf(key), group ? [{ channel, groupId, ...thread }] : []);
    });
  }

  it("also applies in the channel named by a request, with its account", () => {
    const key = "agent:main:irc:group:#team";
    const irc = { channel: "irc", groupId: "#team" };
    assert.deepEqual(groupsOf(key, { channel: " Slack " }), [irc, { ...irc, channel: "slack" }]);
    assert.deepEqual(groupsOf(key, { channel: "irc", accountId: "work" }), [{ ...irc, accountId: "work" }]);
    assert.deepEqual(groupsOf(key, { channel: " " }), [irc]);
    assert.deepEqual(groupsOf("agent:main:main", { channel: "slack" }), []);
  });
});

describe("the depth of a sub-agent", () => {
  const rows: readonly (readonly [key: string, inRun: number | undefined, overHttp: number | undefined])[] = [
    ["agent:main:main", undefined, undefined],
    ["agent:main:irc:group:subagent:1", undefined, undefined],
    ["agent:main:subagent:4f", 1, 1],
    ["agent:main:subagent:4f:subagent:5a", 2, 1],
    ["agent:subagent:main", undefined, undefined],
  ];
  for (const [key, inRun, overHttp] of rows) {
    it(key, () => {
      assert.equal(subagentDepth(key, "run"), inRun);
      assert.equal(subagentDepth(key, "http"), overHttp);
    });
  }
});

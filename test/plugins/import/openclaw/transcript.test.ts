/** Entries of transcripts as messages in order. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { array, assert as check, nat, option, property } from "fast-check";
import { parseLines, readTranscript, type SourceEntry } from "../../../../plugins/import/openclaw/transcript.ts";

const AT = "2026-11-22T20:36:16.487Z";

/** A message of the user with the id as its text. */
function said(id: string, parentId: string | null, more: object = {}): SourceEntry {
  const message = { role: "user", content: [{ type: "text", text: id }], timestamp: 5 };
  return { type: "message", id, parentId, timestamp: AT, message, ...more };
}

const idsOf = (entries: readonly SourceEntry[], isDamaged = false) =>
  readTranscript(entries, isDamaged).messages.map(({ id }) => id);

describe("parseLines", () => {
  it("leaves out a cut line, bytes of zero and values that are no objects, and counts them", () => {
    const { entries, damaged } = parseLines('{"a":1}\n\0\0\0\n[1]\n\n{"b":2}\n{"c":');
    assert.deepEqual([entries, damaged], [[{ a: 1 }, { b: 2 }], 3]);
  });
});

describe("readTranscript", () => {
  it("follows the parents of the newest entry, and keeps the other branches apart", () => {
    const entries = [said("a", null), said("b", "a"), said("left", "b"), said("right", "b"), said("end", "right")];
    const { messages, branches } = readTranscript(entries);
    assert.deepEqual(
      [messages.map(({ id }) => id), branches.map(({ id }) => id)],
      [["a", "b", "right", "end"], ["left"]],
    );
  });

  it("takes a first parent that leads nowhere for the beginning, as after a cut", () => {
    assert.deepEqual(idsOf([said("b", "gone"), said("c", "b")]), ["b", "c"]);
  });

  it("continues with the entry before when the parent was on a damaged line", () => {
    const entries = [said("a", null), said("b", "a"), said("d", "c")];
    assert.deepEqual(idsOf(entries, true), ["a", "b", "d"]);
    assert.deepEqual(idsOf(entries, false), ["d"]);
  });

  it("reads entries without parents as a list", () => {
    const bare = ["a", "b"].map((id) => {
      const { type, timestamp, message } = said(id, null);
      return { type, id, timestamp, message };
    });
    assert.deepEqual(idsOf(bare), ["a", "b"]);
  });

  it("gives entries without ids their place as the id", () => {
    const { messages } = readTranscript([{ type: "message", timestamp: AT, message: { role: "user", content: "hi" } }]);
    assert.deepEqual(
      messages.map(({ id }) => id),
      ["entry-0"],
    );
  });

  it("cuts a loop of parents, and says so", () => {
    const { messages, faults } = readTranscript([said("a", "b"), said("b", "a")]);
    assert.deepEqual([messages.map(({ id }) => id), faults.length], [["a", "b"], 1]);
    assert.match(faults[0] ?? "", /loop was cut/);
  });

  it("keeps one of two messages with the same id", () => {
    assert.deepEqual(idsOf([said("a", null), { ...said("a", "a"), parentId: null }]), ["a"]);
  });

  const converted: [what: string, message: object, expected: object][] = [
    [
      "plain text as a block",
      { role: "user", content: "hi", timestamp: 7 },
      { content: [{ type: "text", text: "hi" }], timestamp: 7 },
    ],
    [
      "fields that only the source reads",
      { role: "user", content: [], __openclaw: { a: 1 } },
      { __openclaw: undefined },
    ],
    [
      "a note of the gateway",
      { role: "assistant", content: [], provider: "openclaw", model: "gateway-injected" },
      { provider: "svc", model: "gateway-injected", stopReason: "stop" },
    ],
    [
      "a tool result",
      { role: "toolResult", toolCallId: "c", toolName: "t", content: [], isError: true },
      { toolCallId: "c", toolName: "t", isError: true },
    ],
    [
      "a block that nothing here knows",
      { role: "user", content: [{ type: "hologram", data: "x" }] },
      { content: [{ type: "text", text: "[content of the type hologram]" }] },
    ],
    [
      "a command that the user ran",
      { role: "bashExecution", command: "ls", output: "a" },
      { role: "user", content: [{ type: "text", text: "Ran `ls`\n\na" }] },
    ],
    [
      "content from outside, which keeps its authority",
      { role: "user", content: '<<<EXTERNAL_UNTRUSTED_CONTENT id="1">>> x' },
      { origin: { kind: "webhook", id: "imported", scopes: [] } },
    ],
  ];
  for (const [what, message, expected] of converted) {
    it(`converts ${what}`, () => {
      const [read] = readTranscript([{ type: "message", id: "m", parentId: null, timestamp: AT, message }]).messages;
      const found = read?.message as Readonly<Record<string, unknown>> | undefined;
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(found?.[name], value, name);
      assert.equal(read?.at, Date.parse(AT));
    });
  }

  it("keeps tool calls, reasoning, usage and cost as they are", () => {
    const message = {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "s" },
        { type: "toolCall", id: "c", name: "t", arguments: { a: 1 } },
      ],
      api: "openai-completions",
      provider: "fake",
      model: "m",
      usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { total: 0.1 } },
      stopReason: "toolUse",
      timestamp: 5,
    };
    const [read] = readTranscript([{ type: "message", id: "m", parentId: null, timestamp: AT, message }]).messages;
    assert.deepEqual(read?.message, message);
  });

  it("takes the last choices of model, thinking and name", () => {
    const { model, thinking, name, dropped } = readTranscript([
      { type: "model_change", id: "1", parentId: null, provider: "p", modelId: "m" },
      { type: "thinking_level_change", id: "2", parentId: "1", thinkingLevel: "high" },
      { type: "session_info", id: "3", parentId: "2", name: "Trip" },
      { type: "custom", id: "4", parentId: "3", customType: "x" },
    ]);
    assert.deepEqual([model, thinking, name, dropped], [{ provider: "p", id: "m" }, "high", "Trip", { custom: 1 }]);
  });

  it("turns shown messages of extensions and summaries of branches into messages", () => {
    const { messages } = readTranscript([
      { type: "custom_message", id: "1", parentId: null, timestamp: AT, content: "shown", display: true },
      { type: "custom_message", id: "2", parentId: "1", timestamp: AT, content: "hidden", display: false },
      { type: "branch_summary", id: "3", parentId: "2", timestamp: AT, summary: "we tried" },
    ]);
    assert.deepEqual(
      messages.map(({ id, message: { role } }) => [id, role]),
      [
        ["1", "assistant"],
        ["3", "user"],
      ],
    );
  });

  describe("with a compaction", () => {
    const compaction = (firstKeptEntryId: string, parentId: string) => ({
      type: "compaction",
      id: "sum",
      parentId,
      timestamp: AT,
      summary: "short",
      firstKeptEntryId,
      tokensBefore: 900,
    });

    it("keeps its summary and the first kept message", () => {
      const { compactions } = readTranscript([said("a", null), said("b", "a"), compaction("b", "b"), said("c", "sum")]);
      assert.deepEqual(compactions, [{ summary: "short", firstKeptId: "b", tokensBefore: 900, at: Date.parse(AT) }]);
    });

    it("keeps the first message from an entry on that is no message", () => {
      const change = { type: "model_change", id: "x", parentId: "a" };
      const { compactions } = readTranscript([said("a", null), change, said("b", "x"), compaction("x", "b")]);
      assert.equal(compactions[0]?.firstKeptId, "b");
    });

    it("keeps what follows when the named entry is not there, and says so", () => {
      const { compactions, faults } = readTranscript([said("a", null), compaction("gone", "a"), said("c", "sum")]);
      assert.deepEqual([compactions[0]?.firstKeptId, faults.length], ["c", 1]);
    });
  });

  it("gives every message of any tree once, on the path or in a branch", () => {
    check(
      property(array(option(nat(), { freq: 8 }), { minLength: 1, maxLength: 40 }), (picks) => {
        const entries = picks.map((pick, at) => said(`m${at}`, at === 0 || pick === null ? null : `m${pick % at}`));
        const { messages, branches } = readTranscript(entries);
        const ids = [...messages, ...branches].map(({ id }) => id);
        assert.deepEqual(ids.toSorted(), entries.map(({ id }) => String(id)).toSorted());
        assert.equal(messages.at(-1)?.id, entries.at(-1)?.["id"]);
        for (const [at, { id }] of messages.entries()) {
          const parent = entries.find((entry) => entry["id"] === id)?.["parentId"] ?? undefined;
          assert.equal(parent, messages[at - 1]?.id);
        }
      }),
    );
  });
});

/** Conversion of the items of a request to one turn of an agent. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Message, textOf } from "@svc/sdk/models";
import { openCalls } from "../../../plugins/http-responses/continuing.ts";
import { turnOf, type TurnScene } from "../../../plugins/http-responses/conversation.ts";
import { fileBlock, fileName } from "../../../plugins/http-responses/file-block.ts";
import type { LoadedItem, LoadedPart } from "../../../plugins/http-responses/media.ts";

type Role = Extract<LoadedItem, { kind: "message" }>["role"];
const picture = { type: "image", data: "x", mimeType: "image/png" } as const;
const part = (text: string): LoadedPart => {
  if (text === "[image]") return { kind: "image", image: picture };
  return text === "[file]" ? { kind: "file", name: "a.txt", block: "<file a>", images: [] } : { kind: "text", text };
};
const says = (role: Role, ...texts: string[]): LoadedItem => ({ kind: "message", role, parts: texts.map(part) });
const user = (...texts: string[]) => says("user", ...texts);
const assistant = (...texts: string[]) => says("assistant", ...texts);
const call = (callId: string): LoadedItem => ({ kind: "call", callId, name: "f", arguments: { id: callId } });
const output = (callId: string, ...texts: string[]): LoadedItem => ({ kind: "output", callId, parts: texts.map(part) });

const scene = (more: Partial<TurnScene> = {}): TurnScene => ({
  instructions: undefined,
  continues: false,
  calls: new Map(),
  now: 7,
  ...more,
});

/** One line per message: its role, text, pictures and calls. */
function line(message: Message): string {
  const rest = message.content.flatMap((block) =>
    block.type === "image" ? [" [image]"] : block.type === "toolCall" ? [` <${block.id}>`] : [],
  );
  const answered = message.role === "toolResult" ? ` to ${message.toolCallId} of ${message.toolName}` : "";
  return `${message.role}${answered}: ${textOf(message)}${rest.join("")}`;
}

function outline(items: readonly LoadedItem[], more: Partial<TurnScene> = {}) {
  const { message, images, toolResults, history, system } = turnOf(items, scene(more));
  return {
    message,
    ...(images.length > 0 ? { images: images.length } : {}),
    ...(toolResults.length > 0 ? { results: toolResults.map(line) } : {}),
    ...(history ? { history: history.map(line) } : {}),
    ...(system === undefined ? {} : { system }),
  };
}

describe("the turn of a request", () => {
  const known = new Map([["c1", "f"]]);
  const rows: readonly [what: string, items: readonly LoadedItem[], expected: object, more?: Partial<TurnScene>][] = [
    ["is its only message", [user("hi")], { message: "hi" }],
    ["has the texts of a message by line", [user("a", "b")], { message: "a\nb" }],
    ["has a picture without words", [user("[image]")], { message: "", images: 1 }],
    ["names a file without words", [user("[file]")], { message: "[attached: a.txt]", system: "<file a>" }],
    [
      "is the last message, with what came before",
      [user("a"), assistant("b"), user("c")],
      { message: "c", history: ["user: a", "assistant: b"] },
    ],
    ["leaves out what came after it", [user("a"), assistant("b")], { message: "a" }],
    [
      "is what was said last where nobody asked",
      [assistant("a"), assistant("b")],
      { message: "b", history: ["assistant: a"] },
    ],
    [
      "has pictures of earlier messages with them",
      [user("a", "[image]"), user("b")],
      { message: "b", history: ["user: a [image]"] },
    ],
    [
      "has pictures of others with its own",
      [says("system", "s", "[image]"), assistant("a", "[image]"), user("b")],
      { message: "b", images: 2, history: ["assistant: a"], system: "s" },
    ],
    ["passes over what says nothing", [user(" "), assistant(""), user("a")], { message: "a" }],
    [
      "collects instructions, system texts and files",
      [says("system", "one"), user("a", "[file]"), says("system", "two"), user("b")],
      { message: "b", history: ["user: a"], system: "zero\n\none\n\ntwo\n\n<file a>" },
      { instructions: "zero" },
    ],
    [
      "answers calls that came before",
      [user("a"), assistant("b"), call("c1"), call("c2"), output("c1", "x"), output("c2", "")],
      {
        message: "",
        results: ["toolResult to c1 of f: x", "toolResult to c2 of f: "],
        history: ["user: a", "assistant: b <c1> <c2>"],
      },
    ],
    [
      "answers calls, then says something",
      [user("a"), call("c1"), output("c1", "x"), user("b")],
      { message: "b", results: ["toolResult to c1 of f: x"], history: ["user: a", "assistant:  <c1>"] },
    ],
    [
      "keeps answers of earlier turns in their place",
      [user("a"), call("c1"), output("c1", "x", "[image]"), assistant("b"), user("c")],
      { message: "c", history: ["user: a", "assistant:  <c1>", "toolResult to c1 of f: x [image]", "assistant: b"] },
    ],
    [
      "parts two answers of the model",
      [user("a"), assistant("b"), assistant("c"), user("d")],
      { message: "d", history: ["user: a", "assistant: b\n\nc"] },
    ],
    [
      "answers calls of the session",
      [output("c1", "x")],
      { message: "", results: ["toolResult to c1 of f: x"] },
      { calls: known },
    ],
    [
      "has a file of an answer in the answer",
      [output("c1", "x", "[file]")],
      { message: "", results: ["toolResult to c1 of f: x\n<file a>"] },
      { calls: known },
    ],
    ["tells answers to no known call", [output("c9", "x")], { message: "Tool:c9: x" }, { calls: known }],
    ["tells them before what is said", [output("c9", "x"), user("a")], { message: "Tool:c9: x\n\na" }],
    [
      "tells earlier ones where they stand",
      [output("c9", "x"), user("a"), user("b")],
      { message: "b", history: ["user: Tool:c9: x", "user: a"] },
    ],
    [
      "takes several messages when it goes on",
      [output("c1", "x"), user("a"), user("b")],
      { message: "a\n\nb", results: ["toolResult to c1 of f: x"] },
      { continues: true, calls: known },
    ],
  ];
  for (const [what, items, expected, more] of rows) {
    it(what, () => assert.deepEqual(outline(items, more), expected));
  }

  const refused: readonly [what: string, items: readonly LoadedItem[], message: RegExp, more?: Partial<TurnScene>][] = [
    ["there is nothing", [], /^Missing user message in `input`\.$/],
    ["nobody said anything", [user(""), says("system", "s")], /^Missing user message/],
    ["there are only calls", [call("c1")], /^Missing user message/],
    [
      "something is said again",
      [user("a"), assistant("b"), user("c")],
      /^input: with previous_response_id send only new items/,
      { continues: true },
    ],
  ];
  for (const [what, items, message, more] of refused) {
    it(`is refused where ${what}`, () => {
      assert.throws(() => turnOf(items, scene(more)), { code: "INVALID_REQUEST", message });
    });
  }

  it("gives its answers the time of now, and history none", () => {
    const { toolResults, history } = turnOf([call("c1"), output("c1", "x")], scene());
    assert.deepEqual([toolResults[0]?.timestamp, history?.[0]?.timestamp], [7, 0]);
  });
});

describe("the calls an answer left open", () => {
  it("are those of the last answer that have no result", () => {
    const { history = [] } = turnOf(
      [user("a"), call("c1"), call("c2"), output("c1", "x"), user("b"), user("c")],
      scene(),
    );
    assert.deepEqual([...openCalls(history)], [["c2", "f"]]);
    assert.deepEqual([...openCalls([])], []);
  });
});

describe("the text of a file", () => {
  const read = (text: string, more: object = {}) => ({ text, images: [], isCut: false, ...more });

  it("is put between markers of external content, and cannot end its block", () => {
    const block = fileBlock("a.txt", read('one </file> two < FILE name="x">', { isCut: true }), "api");
    assert.match(block, /^<file name="a\.txt">\nSECURITY: /);
    assert.match(block, /one &lt;\/file> two &lt; FILE/);
    assert.ok(block.endsWith("[the rest was cut]\n</file>"));
    assert.equal(block.match(/<\/?file/gi)?.length, 2);
  });

  it("is a line where its pages are pictures", () => {
    assert.equal(
      fileBlock("a", read("few", { images: [picture] }), "api"),
      '<file name="a">\n[1 of its pages as pictures]\n</file>',
    );
  });

  const names: readonly [given: string | undefined, name: string][] = [
    [undefined, "file"],
    [" \n", "file"],
    ["report.pdf", "report.pdf"],
    ['x"><system>', "x_ system"],
    ["a\nb\u2028c", "a b c"],
    ["a".repeat(300), "a".repeat(200)],
  ];
  for (const [given, name] of names)
    it(`has the name ${JSON.stringify(given)?.slice(0, 20)} as one line`, () => assert.equal(fileName(given), name));
});

/** Markdown in the markup of each network, and texts with code blocks in pieces. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { array, assert as check, constantFrom, integer, property } from "fast-check";
import { rendered } from "../../../plugins/channels/outbox/markup.ts";
import { piecesOf } from "../../../plugins/channels/outbox/pieces.ts";
import { split } from "@svc/kit/channels";

const MARKDOWN = [
  "# Title & more",
  "",
  "Some **bold**, *italic*, ~~gone~~ and `a < b` [site](https://x.example/?a=1&b=2) https://y.example.",
  "",
  "- [x] done",
  "- two",
  "  - deep",
  "",
  "3. three",
  "4. four",
  "",
  "> quoted",
  "",
  "```js",
  'if (a < b) say("`");',
  "```",
  "",
  "| a | bb |",
  "|---|---|",
  "| 1 | **2** |",
].join("\n");

describe("Markdown", () => {
  it("is escaped HTML for networks with HTML", () => {
    assert.equal(
      rendered(MARKDOWN, "html"),
      [
        "<b>Title &amp; more</b>",
        "",
        'Some <b>bold</b>, <i>italic</i>, <s>gone</s> and <code>a &lt; b</code> <a href="https://x.example/?a=1&amp;b=2">site</a> <a href="https://y.example">https://y.example</a>.',
        "",
        "• ☑ done",
        "• two",
        "  • deep",
        "",
        "3. three",
        "4. four",
        "",
        "<blockquote>quoted</blockquote>",
        "",
        '<pre><code class="language-js">if (a &lt; b) say("`");</code></pre>',
        "",
        "<pre>a  bb\n1  2</pre>",
      ].join("\n"),
    );
  });

  it("is mrkdwn for Slack, plain without markup, and unchanged where the network reads Markdown", () => {
    const mrkdwn = rendered(MARKDOWN, "mrkdwn");
    assert.match(
      mrkdwn,
      /^\*Title &amp; more\*\n\nSome \*bold\*, _italic_, ~gone~ and `a &lt; b` <https:\/\/x\.example\/\?a=1&amp;b=2\|site> <https:\/\/y\.example>\./,
    );
    assert.match(mrkdwn, /\n> quoted\n\n```\nif \(a &lt; b\)/);
    const plain = rendered(MARKDOWN, "plain");
    assert.match(
      plain,
      /^Title & more\n\nSome bold, italic, gone and a < b site \(https:\/\/x\.example\/\?a=1&b=2\) https:\/\/y\.example\./,
    );
    assert.match(plain, /\nif \(a < b\) say\("`"\);\n/);
    assert.equal(rendered(MARKDOWN, "markdown"), MARKDOWN);
  });

  const hostile: [what: string, text: string, html: string][] = [
    ["tags", '<script>alert("1")</script>', '&lt;script&gt;alert("1")&lt;/script&gt;'],
    ["a link with a script", "[x](javascript:alert(1))", "[x](javascript:alert(1))"],
    ["a quote in an address", '[x](https://a/"onclick=)', '<a href="https://a/&quot;onclick=">x</a>'],
    ["an open mark", "a **b <c", "a **b &lt;c"],
    ["nothing to mark", "snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
  ];
  for (const [what, text, html] of hostile)
    it(`is safe with ${what}`, () => assert.equal(rendered(text, "html"), html));

  it("without markup has the same text in every markup", () => {
    for (const text of ["hello", "one\ntwo", "  indented\n    more"])
      for (const markup of ["plain", "html", "mrkdwn", "markdown"] as const)
        assert.equal(rendered(text, markup).trim(), text.trim(), `${markup}: ${text}`);
  });
});

describe("a text with code blocks", () => {
  const code = (lines: number, fence = "```") =>
    `${fence}js\n${Array.from({ length: lines }, (_, at) => `  line(${at});`).join("\n")}\n${fence}`;
  const linesOf = (pieces: readonly string[]) => pieces.flatMap((piece) => piece.match(/ {2}line\(\d+\);/g) ?? []);

  it("closes a block that is cut, and opens it again with its language", () => {
    const pieces = split(`Look:\n\n${code(90)}\n\nThat is all.`, 400);
    assert.ok(pieces.length >= 3);
    for (const piece of pieces) {
      assert.ok(piece.length <= 400, `${piece.length} characters`);
      assert.equal((piece.match(/^```/gm) ?? []).length % 2, 0, piece);
    }
    for (const piece of pieces.slice(1, -1)) assert.match(piece, /^```js\n {2}line/);
    assert.equal(linesOf(pieces).length, 90);
    assert.match(pieces.at(-1) ?? "", /That is all\.$/);
  });

  it("moves a block that begins late to the next piece as a whole", () => {
    const [first, second, ...more] = split(`${"words ".repeat(50)}\n\n${code(5)}`, 360);
    assert.deepEqual(more, []);
    assert.doesNotMatch(first ?? "", /```/);
    assert.match(second ?? "", /^```js\n {2}line\(0\)/);
  });

  it("keeps every line, in order and below the limit, whatever is mixed", () => {
    const part = constantFrom(
      code(3),
      code(30),
      code(2, "~~~"),
      "text ".repeat(40).trim(),
      "one line",
      "````\n```\ninner\n````",
    );
    check(
      property(array(part, { minLength: 1, maxLength: 6 }), integer({ min: 200, max: 900 }), (parts, limit) => {
        const text = parts.join("\n\n");
        const pieces = split(text, limit);
        assert.ok(pieces.every((piece) => piece.length <= limit && piece.trim() !== ""));
        assert.deepEqual(linesOf(pieces), linesOf([text]));
        assert.equal(pieces.join(" ").split("inner").length, text.split("inner").length);
      }),
    );
  });
});

describe("the pieces of a message", () => {
  const message = { id: "1", channel: "c", accountId: "a", to: "ann", text: "short", maxChars: 20 };

  it("quote the question once or always, and have buttons below the last one", () => {
    const buttons = [[{ label: "Yes", value: "y" }]];
    const long = { ...message, text: "one two three four five six seven" };
    const once = piecesOf({ ...long, extras: { replyTo: "q", buttons } }, {});
    assert.deepEqual(
      once.map(({ replyTo, buttons: below }) => [replyTo, below]),
      [
        ["q", undefined],
        [undefined, buttons],
      ],
    );
    const always = piecesOf({ ...long, extras: { replyTo: "q", repliesAlways: true } }, {});
    assert.deepEqual(
      always.map(({ replyTo }) => replyTo),
      ["q", "q"],
    );
    assert.deepEqual(piecesOf(message, {}), piecesOf(message, {}), "with the same ids each time");
  });

  it("have the text below the only file, if the network can show it there", () => {
    const withFile = { ...message, extras: { media: ["f1"] } };
    const shown = (maxCaptionChars: number) =>
      piecesOf(withFile, { maxCaptionChars }).map(({ text, media }) => [media, text]);
    assert.deepEqual(shown(5), [["f1", "short"]]);
    assert.deepEqual(shown(4), [
      ["f1", ""],
      [undefined, "short"],
    ]);
    assert.deepEqual(
      piecesOf({ ...withFile, text: "" }, { maxCaptionChars: 0 }).map(({ text }) => text),
      [""],
    );
  });
});

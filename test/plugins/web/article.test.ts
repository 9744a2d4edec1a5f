/** Text of an HTML page for a reader or a model. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPage } from "../../../plugins/web/article.ts";

const url = "https://example.com/dir/page";
const readings = (html: string, changes: object = {}) => [
  ...readPage({ html, url, mode: "markdown", maxChars: 50_000, ...changes }),
];
/** The best result. */
const read = (html: string, changes: object = {}) => {
  const best = readings(html, changes).at(-1);
  assert.ok(best);
  return best;
};
const page = (body: string) =>
  `<!doctype html><html><head><title> A &amp; B </title></head><body>${body}</body></html>`;
const sentence = "<p>A sentence that goes on for a while, with commas, and then some more words to read.</p>";

describe("a page as text", () => {
  /** The text is the markdown unless it differs. */
  const rows: [what: string, html: string, markdown: string, text?: string][] = [
    ["headings", "<h1>One</h1><h3>Two <em>x</em></h3>", "# One\n\n### Two *x*", "One\n\nTwo x"],
    ["paragraphs", "<p>One\n two</p><div>three<p>four</p></div>", "One two\n\nthree\n\nfour"],
    ["line breaks", "<p>One<br> two</p>", "One\ntwo"],
    ["strong words", "<p>so <b>very </b>good</p>", "so **very** good", "so very good"],
    ["links", '<p>see <a href="../x?a=b#c">this</a></p>', "see [this](https://example.com/x?a=b#c)", "see this"],
    ["links with brackets", '<a href="/a_(b)">x</a>', "[x](https://example.com/a_%28b%29)", "x"],
    [
      "links around a heading",
      '<a href="/a"><h2>Title</h2><p>Lead</p></a>',
      "[Title Lead](https://example.com/a)",
      "Title Lead",
    ],
    ["links that lead nowhere", '<a href="#top">a</a> <a href="javascript:x()">b</a> <a>c</a>', "a b c"],
    [
      "images",
      '<p><img alt="a cat" src="/cat.png"><img src="/dot.gif"></p>',
      "![a cat](https://example.com/cat.png)",
      "a cat",
    ],
    ["images inside the page", '<p><img alt="dot" src="data:image/png;base64,AA"></p>', "dot"],
    ["lists", "<ul><li>a</li><li><p>b</p><ol><li>c</li><li>d</li></ol></li></ul>", "- a\n- b\n  1. c\n  2. d"],
    [
      "code",
      "<p>run <code>npm i</code></p><pre>a\n  b ``` c\n</pre>",
      "run `npm i`\n\n````\na\n  b ``` c\n````",
      "run npm i\n\na\n  b ``` c",
    ],
    ["quotations", "<blockquote><p>a</p><p>b</p></blockquote>", "> a\n> \n> b"],
    ["rules", "<p>a</p><hr><p>b</p>", "a\n\n---\n\nb", "a\n\nb"],
    [
      "tables",
      "<table><thead><tr><th>k</th><th>v</th></tr></thead><tbody><tr><td>a|b</td><td><p>1</p></td></tr></tbody></table>",
      "| k | v |\n| --- | --- |\n| a\\|b | 1 |",
      "k | v\na|b | 1",
    ],
    ["tables for looks", "<table><tr><td><p>one</p></td></tr><tr><td>two</td></tr></table>", "one\n\ntwo"],
    ["paragraphs in a font", "<font><p>a</p><p>b</p></font>", "a\n\nb"],
    ["old entities", "<p>&lt;b&gt; &amp; &copy; &#8364;</p>", "<b> & © €"],
    [
      "what nobody sees",
      '<p>seen</p><script>a</script><style>b</style><noscript>c</noscript><template>d</template><p hidden>e</p><p aria-hidden="true">f</p><p style="color:red; display : none">g</p><span style="visibility:hidden">h</span><!-- i --><svg><text>j</text></svg><textarea>k</textarea>',
      "seen",
    ],
  ];
  for (const [what, html, markdown, text = markdown] of rows)
    it(`has ${what}`, () => {
      assert.equal(read(page(html)).text, markdown);
      assert.equal(read(page(html), { mode: "text" }).text, text);
    });

  it("has its title, and is the article where there is one", () => {
    const menu = '<nav><a href="/">Home</a><a href="/about">About us</a></nav>';
    const { title, text, extractor } = read(page(`${menu}<article><h1>News</h1>${sentence.repeat(9)}</article>`));
    assert.deepEqual([title, extractor], ["A & B", "readability"]);
    assert.match(text, /A sentence that goes on/);
    assert.doesNotMatch(text, /About us/);
  });

  it("is all of the page before the article is found", () => {
    const [first, second] = readings(page(`<nav>Menu</nav><article>${sentence.repeat(9)}</article>`));
    assert.deepEqual([first?.extractor, second?.extractor], ["page", "readability"]);
    assert.match(first?.text ?? "", /^Menu/);
  });

  it("is the whole page where an article would be a piece of it", () => {
    const { text, extractor } = read(page("<div><a href='/a'>First</a></div><div><p>Second, third</p></div>"));
    assert.deepEqual([text, extractor], ["[First](https://example.com/a)\n\nSecond, third", "page"]);
  });

  const scraps: [why: string, html: string, text: string, title?: string][] = [
    ["no tags", "just words", "just words"],
    ["nothing", "", ""],
    ["a paragraph only", "<p>a", "a"],
    ["a title and no body", "<!doctype html><title>T</title><p>a <b>b</b>", "a **b**", "T"],
    ["a body in a comment only", "<!-- <html><body> --><p>a</p>", "a"],
  ];
  for (const [why, html, text, title] of scraps)
    it(`is read although it has ${why}`, () => {
      const read_ = read(html);
      assert.deepEqual([read_.text, read_.title], [text, title]);
    });

  it("is cut where asked, and never in the middle of a character", () => {
    const { text, truncated } = read(page("<p>ab😀cd</p>"), { maxChars: 3 });
    assert.deepEqual([text, truncated], ["ab", true]);
    assert.equal(read(page("<p>abc</p>"), { maxChars: 3 }).truncated, false);
  });

  it("may be nested deeper than the limit", () => {
    const deep = 200;
    const html = `${"<div>".repeat(deep)}in <b>here</b>${"</div>".repeat(deep)}${"<span>".repeat(deep)}there${"</span>".repeat(deep)}`;
    assert.equal(read(page(html)).text, "in here\n\nthere");
  });
});

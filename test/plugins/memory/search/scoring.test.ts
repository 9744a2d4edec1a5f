/** The steps of a search, one by one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wordsOf } from "../../../../plugins/memory/index/tokeniser.ts";
import { aged, dayOf, varied, weighed } from "../../../../plugins/memory/search/hybrid.ts";
import { keywordScore, type Wanted } from "../../../../plugins/memory/search/keyword-score.ts";
import { MAX_SNIPPET_CHARS, snippetOf } from "../../../../plugins/memory/search/snippet.ts";
import { afterPrefix, anyOf, formsOf, slipsOf } from "../../../../plugins/memory/search/spelling.ts";

describe("the keyword score", () => {
  const corpus = { chunks: 10, meanWords: 4 };
  const form = (word: string, chunks = 1, weight = 1): Wanted[number][number] => ({ word, chunks, weight });
  const chunk = (text: string, heading = "", name = "") => {
    const words = (of: string) => of.split(" ").filter(Boolean);
    return { text: words(text), heading: words(heading), name: words(name) };
  };
  const plain = keywordScore([[form("fox")]], corpus, chunk("the fox runs"));
  const better: [what: string, more: number, less: number][] = [
    ["a rare word than a frequent one", plain, keywordScore([[form("fox", 9)]], corpus, chunk("the fox runs"))],
    ["the word than a form of it", plain, keywordScore([[form("fox", 1, 0.5)]], corpus, chunk("the fox runs"))],
    ["a heading than a mention", keywordScore([[form("fox")]], corpus, chunk("runs", "fox")), plain],
    ["a short text than a long one", plain, keywordScore([[form("fox")]], corpus, chunk(`fox ${"x ".repeat(50)}`))],
    ["two words than one", keywordScore([[form("fox")], [form("runs")]], corpus, chunk("the fox runs")), plain],
    ["a word twice than once", keywordScore([[form("fox")]], corpus, chunk("fox fox runs")), plain],
  ];
  for (const [what, more, less] of better) it(`is higher for ${what}`, () => assert.ok(more > less, `${more} ${less}`));

  it("is between 0 and 1, and 0 for none of the words", () => {
    assert.equal(keywordScore([[form("cat")]], corpus, chunk("the fox")), 0);
    assert.equal(keywordScore([], corpus, chunk("the fox")), 0);
    const everywhere = keywordScore([[form("fox", 10)]], corpus, chunk("fox"));
    assert.ok(everywhere > 0 && everywhere < plain && plain < 1);
  });

  it("counts the best form of each word, not their sum", () => {
    const forms = [form("fox"), form("foxes", 1, 0.5)];
    assert.equal(
      keywordScore([forms], corpus, chunk("fox foxes")),
      keywordScore([[form("fox")]], corpus, chunk("fox foxes")),
    );
  });
});

describe("forms of a word", () => {
  const known = (...words: string[]) => words.map((word) => ({ word, chunks: 1 }));
  it("are itself before longer ones, the nearest first", () => {
    const forms = formsOf("tomato", known("tomatoes", "tomato", "tomatopuree"));
    assert.deepEqual(
      forms.map(({ word }) => word),
      ["tomato", "tomatoes", "tomatopuree"],
    );
    assert.equal(forms[0]?.weight, 1);
    assert.ok(forms.every(({ weight }) => weight > 0 && weight <= 1));
  });
  it("of a short word are itself only", () => assert.equal(formsOf("tea", known("team")).length, 0));
  it("allow misspellings of a longer word", () => {
    const near = known("tomatoes", "tornado", "tomorrow", "tomatos");
    assert.deepEqual(
      slipsOf("tomatoe", near).map(({ word }) => word),
      ["tomatoes", "tomatos"],
    );
    assert.deepEqual(slipsOf("tomto", known("tomato")), []);
  });

  it("become a query in which nothing is an operator", () =>
    assert.equal(anyOf(["a", 'b"c', "NEAR"]), '"a" OR "b""c" OR "NEAR"'));

  const ends: [prefix: string, end: string | undefined][] = [
    ["ab", "ac"],
    ["天", "太"],
    ["a\ud7ff", "a\ue000"],
    ["a\u{10ffff}", "b"],
    ["\u{10ffff}", undefined],
  ];
  for (const [prefix, end] of ends)
    it(`begin before ${JSON.stringify(end)}: ${JSON.stringify(prefix)}`, () => assert.equal(afterPrefix(prefix), end));
});

describe("keyword and semantic scores", () => {
  const weights = { enabled: true, vectorWeight: 0.7, textWeight: 0.3 };
  const candidate = (path: string, textScore: number, similarity?: number) => ({ path, textScore, similarity });
  const names = (scored: readonly { candidate: { path: string } }[]) =>
    scored.map((one) => one.candidate.path).join("");

  it("are weighted by their proportion", () => {
    const candidates = [candidate("w", 0.9, 0.1), candidate("m", 0, 0.9), candidate("b", 0.9, 0.9)];
    assert.equal(names(weighed(candidates, weights)), "bmw");
    assert.equal(names(weighed(candidates, { ...weights, vectorWeight: 0.1, textWeight: 0.9 })), "bwm");
    assert.equal(weighed(candidates, { ...weights, vectorWeight: 0, textWeight: 0 })[0]?.score, 0.9);
    assert.equal(names(weighed(candidates, { ...weights, enabled: false })), "mbw");
  });

  it("drop places without the words and with a low similarity", () => {
    const candidates = [candidate("far", 0, 0.05), candidate("away", 0, -1), candidate("word", 0.1), candidate("n", 0)];
    const scored = weighed(candidates, weights);
    assert.equal(names(scored), "word");
    assert.ok(Math.abs((scored[0]?.score ?? 0) - 0.03) < 1e-9);
  });

  it("are lower for old notes with a date in the name", () => {
    const now = Date.UTC(2026, 0, 31);
    const scored = ["memory/2026-01-01.md", "MEMORY.md", "memory/2026-01-31.md"].map((path) => ({
      candidate: candidate(path, 0),
      score: 0.8,
    }));
    const result = aged(scored, 30, now).map(({ candidate: { path }, score }) => [path, score]);
    assert.deepEqual(result, [
      ["MEMORY.md", 0.8],
      ["memory/2026-01-31.md", 0.8],
      ["memory/2026-01-01.md", 0.4],
    ]);
    assert.equal(aged(scored, 30, 0)[0]?.score, 0.8, "a date that is still to come");
  });

  const days: [path: string, day: number | undefined][] = [
    ["memory/2026-01-02.md", Date.UTC(2026, 0, 2)],
    ["memory/talk-2026-01-02.md", Date.UTC(2026, 0, 2)],
    ["memory/2026-01-02/talk.md", undefined],
    ["memory/2026-02-31.md", undefined],
    ["memory/12026-01-021.md", undefined],
    ["MEMORY.md", undefined],
  ];
  for (const [path, day] of days) it(`${path} is of ${day ?? "no day"}`, () => assert.equal(dayOf(path), day));

  it("are lower for places similar to a better one", () => {
    const texts: Record<string, string> = { a: "one two three", b: "one two three", c: "four five six" };
    const scored = [0.9, 0.8, 0.7].map((score, at) => ({ candidate: "abc"[at] ?? "", score }));
    const words = (name: string) => new Set(texts[name]?.split(" "));
    const order = (lambda: number, count = 3) =>
      varied(scored, { lambda, count, words })
        .map((one) => one.candidate)
        .join("");
    assert.deepEqual([order(1), order(0.5), order(0.5, 2), order(0, 1)], ["abc", "acb", "ac", "a"]);
    assert.deepEqual(varied([], { lambda: 1, count: 3, words }), []);
  });
});

describe("words", () => {
  const cases: [text: string, words: string[]][] = [
    ["Hello, World!", ["hello", "world"]],
    ["Straße CAFÉ naïve", ["straße", "cafe", "naive"]],
    ["snake_case and e-mail 2026-01-02", ["snake_case", "and", "e", "mail", "2026", "01", "02"]],
    ["天気予報 and 水", ["天気", "気予", "予報", "and", "水"]],
    ["`` -- ``", []],
    ["y".repeat(100), ["y".repeat(64)]],
  ];
  for (const [text, words] of cases) it(`of ${text.slice(0, 30)}`, () => assert.deepEqual(wordsOf(text), words));
});

describe("snippets", () => {
  /** 20 lines of about 100 characters, each with its number. */
  const LINES = Array.from({ length: 20 }, (_, index) => `line ${index + 1} ${"word ".repeat(18)}`.trim());

  it("of a short chunk are the whole chunk", () => assert.equal(snippetOf("a\nb", ["b"]), "a\nb"));

  it("show the line with most of the words, and its neighbours", () => {
    const text = [...LINES, "the red fox", ...LINES].join("\n");
    const snippet = snippetOf(text, ["red", "fox"]);
    assert.ok(snippet.includes("the red fox") && snippet.includes("line 1 "));
    assert.ok(snippet.length <= MAX_SNIPPET_CHARS);
  });

  it("show the part of a long line with the first word", () => {
    const snippet = snippetOf(`${"a ".repeat(800)}fox${" b".repeat(800)}`, ["fox"]);
    assert.equal(snippet.length, MAX_SNIPPET_CHARS);
    assert.ok(snippet.includes("fox"));
  });
});

/** The decisions of a search, one by one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { afterFailure, waitingFor } from "../../../../plugins/memory/embedding/back-off.ts";
import { cosine, fromBytes, toBytes, unit } from "../../../../plugins/memory/embedding/vectors.ts";
import { aged, dayOf, varied, weighed } from "../../../../plugins/memory/search/hybrid.ts";
import { keywordScore, type Wanted } from "../../../../plugins/memory/search/keyword-score.ts";
import { afterPrefix, anyOf, distance, formsOf, slipsOf } from "../../../../plugins/memory/search/spelling.ts";
import { settingsOf } from "../../../../plugins/memory/settings.ts";

describe("the score of words", () => {
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

  it("takes the best form of each word, and not their sum", () => {
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
  it("forgive slips in a longer word", () => {
    const near = known("tomatoes", "tornado", "tomorrow", "tomatos");
    assert.deepEqual(
      slipsOf("tomatoe", near).map(({ word }) => word),
      ["tomatoes", "tomatos"],
    );
    assert.deepEqual(slipsOf("tomto", known("tomato")), []);
  });

  const slips: [one: string, other: string, distance: number][] = [
    ["same", "same", 0],
    ["form", "from", 1],
    ["tomatos", "tomatoes", 1],
    ["kitten", "sitting", 3],
    ["", "ab", 2],
  ];
  for (const [one, other, count] of slips)
    it(`are ${count} apart: "${one}", "${other}"`, () => assert.equal(distance(one, other, 3), count));
  it("are not counted beyond the limit", () => assert.ok(distance("abcdefgh", "hgfedcba", 2) > 2));

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

describe("words and meaning", () => {
  const weights = { enabled: true, vectorWeight: 0.7, textWeight: 0.3 };
  const candidate = (path: string, textScore: number, similarity?: number) => ({ path, textScore, similarity });
  const names = (scored: readonly { candidate: { path: string } }[]) =>
    scored.map((one) => one.candidate.path).join("");

  it("are weighed by their proportion", () => {
    const candidates = [candidate("w", 0.9, 0.1), candidate("m", 0, 0.9), candidate("b", 0.9, 0.9)];
    assert.equal(names(weighed(candidates, weights)), "bmw");
    assert.equal(names(weighed(candidates, { ...weights, vectorWeight: 0.1, textWeight: 0.9 })), "bwm");
    assert.equal(weighed(candidates, { ...weights, vectorWeight: 0, textWeight: 0 })[0]?.score, 0.9);
    assert.equal(names(weighed(candidates, { ...weights, enabled: false })), "mbw");
  });

  it("leave out what has none of the words and means something else", () => {
    const candidates = [candidate("far", 0, 0.05), candidate("away", 0, -1), candidate("word", 0.1), candidate("n", 0)];
    const scored = weighed(candidates, weights);
    assert.equal(names(scored), "word");
    assert.ok(Math.abs((scored[0]?.score ?? 0) - 0.03) < 1e-9);
  });

  it("count for less in old notes, where a name has a date", () => {
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
    ["memory/2026-01-02-talk.md", Date.UTC(2026, 0, 2)],
    ["memory/talk-2026-01-02.md", Date.UTC(2026, 0, 2)],
    ["memory/2026-01-02/talk.md", undefined],
    ["memory/2026-13-02.md", undefined],
    ["memory/2026-02-31.md", undefined],
    ["memory/12026-01-021.md", undefined],
    ["MEMORY.md", undefined],
  ];
  for (const [path, day] of days) it(`${path} is of ${day ?? "no day"}`, () => assert.equal(dayOf(path), day));

  it("move down what says the same as something better", () => {
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

describe("vectors", () => {
  it("have a length of 1, and keep their direction as bytes", () => {
    const one = unit([3, 4]) ?? assert.fail();
    assert.ok(Math.abs(cosine(one, one) - 1) < 1e-6);
    const shifted = Buffer.concat([Buffer.alloc(1), toBytes(one)]).subarray(1);
    assert.deepEqual([...fromBytes(shifted)], [...one]);
    assert.deepEqual([unit([0, 0]), unit([Number.NaN]), unit([1e308, 1e308])], [undefined, undefined, undefined]);
    assert.equal(cosine(one, Float32Array.of(1)), 0);
  });
});

describe("a server that failed", () => {
  it("is asked later and later, at most every ten minutes, and not before it wants to be", () => {
    const failure = { reason: "down", now: 0 };
    let state = afterFailure(undefined, failure);
    assert.deepEqual([state.until, waitingFor(state, 14_000)], [15_000, "down; it is asked again in 1 s"]);
    assert.equal(waitingFor(state, 15_000), undefined);
    state = afterFailure(state, failure);
    assert.equal(state.until, 30_000);
    for (let turn = 0; turn < 20; turn += 1) state = afterFailure(state, failure);
    assert.equal(state.until, 600_000);
    assert.equal(afterFailure(undefined, { ...failure, retryAfterMs: 60_000 }).until, 60_000);
    assert.equal(afterFailure(undefined, { ...failure, retryAfterMs: 9e9 }).until, 600_000);
  });
});

describe("settings", () => {
  it("name no server unless the configuration does", () => {
    assert.equal(settingsOf({}).endpoint, undefined);
    assert.equal(settingsOf({ model: "m", remote: { apiKey: "k" } }).endpoint, undefined);
    const servers = [
      { provider: "ollama" as const },
      { provider: "openai" as const },
      { remote: { baseUrl: "http://a/v1//" } },
    ];
    assert.deepEqual(
      servers
        .map((given) => settingsOf(given).endpoint)
        .map((found) => [found?.provider, found?.baseUrl, found?.model]),
      [
        ["ollama", "http://127.0.0.1:11434/v1", "nomic-embed-text"],
        ["openai", "https://api.openai.com/v1", "text-embedding-3-small"],
        ["openai", "http://a/v1", "text-embedding-3-small"],
      ],
    );
  });

  it("are what is written, with bounds that hold together", () => {
    const found = settingsOf({
      chunking: { tokens: 100, overlap: 90 },
      cache: { enabled: false, maxEntries: 5 },
      query: { maxResults: 3, minScore: 0.5, hybrid: { mmr: { enabled: true }, temporalDecay: { halfLifeDays: 5 } } },
      sync: { watch: false, onSearch: false, watchDebounceMs: 0, intervalMinutes: 5 },
      store: { vector: { enabled: false } },
      extraPaths: ["/srv"],
      enabled: false,
    });
    assert.deepEqual(found.chunking, { tokens: 100, overlap: 50 });
    assert.deepEqual([found.maxCached, found.maxResults, found.minScore, found.useExtension], [0, 3, 0.5, false]);
    assert.deepEqual([found.hybrid.mmrLambda, found.hybrid.halfLifeDays], [0.7, undefined]);
    assert.deepEqual(
      [found.watch, found.refreshOnSearch, found.watchDebounceMs, found.intervalMinutes],
      [false, false, 0, 5],
    );
    assert.deepEqual([found.enabled, found.extraPaths], [false, ["/srv"]]);
    assert.equal(settingsOf({ cache: { maxEntries: 5 } }).maxCached, 5);
  });
});

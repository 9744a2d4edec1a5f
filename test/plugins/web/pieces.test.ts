/** The small parts: the cache, kinds of pages, text of snippets, and threads that are ended. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { createFakeClock } from "@svc/sdk/testing";
import { createCache } from "../../../plugins/web/cache.ts";
import { createExtraction } from "../../../plugins/web/extraction.ts";
import type { PageQuestion } from "../../../plugins/web/messages.ts";
import { decodeText, kindOf } from "../../../plugins/web/page-kind.ts";
import { plainText } from "../../../plugins/web/plain-text.ts";

describe("the memory of answers", () => {
  const make = (changes: object = {}) => {
    const clock = createFakeClock();
    const options = { clock, ttlMs: 1_000, maxEntries: 2, maxSize: 10, sizeOf: (text: string) => text.length };
    return { clock, cache: createCache<string>({ ...options, ...changes }) };
  };

  it("forgets in time", async () => {
    const { clock, cache } = make();
    cache.set("a", "1");
    await clock.advance(999);
    assert.equal(cache.get("a"), "1");
    await clock.advance(1);
    assert.equal(cache.get("a"), undefined);
  });

  it("forgets what was not used longest, by count and by size", () => {
    const { cache } = make();
    cache.set("a", "1");
    cache.set("b", "2");
    cache.get("a");
    cache.set("c", "3");
    assert.deepEqual(["a", "b", "c"].map(cache.get), ["1", undefined, "3"]);
    cache.set("d", "1234567890");
    assert.deepEqual(["a", "c", "d"].map(cache.get), [undefined, undefined, "1234567890"]);
    cache.set("e", "12345678901");
    assert.deepEqual(["d", "e"].map(cache.get), ["1234567890", undefined]);
    cache.set("d", "1");
    cache.set("f", "123456789");
    assert.deepEqual(["d", "f"].map(cache.get), ["1", "123456789"]);
  });

  it("keeps nothing for 0 minutes", () => {
    const { cache } = make({ ttlMs: 0 });
    cache.set("a", "1");
    assert.equal(cache.get("a"), undefined);
  });
});

describe("kinds of pages", () => {
  it("are html, text or neither", () => {
    const kinds = {
      html: ["text/html", "application/xhtml+xml"],
      text: ["application/json", "application/problem+json", "application/rss+xml", "text/csv"],
      neither: ["application/pdf", "image/svg", "application/octet-stream"],
    };
    for (const [kind, types] of Object.entries(kinds))
      for (const type of types) assert.equal(kindOf(type) ?? "neither", kind, type);
  });

  const latin = Buffer.from("é", "latin1");
  const meta = (charset: string) => Buffer.concat([Buffer.from(`<meta charset="${charset}">`), latin]);
  const decoded: [why: string, body: Uint8Array, charset: string | undefined, kind: "html" | "text", end: string][] = [
    ["UTF-8 unless told", Buffer.from("é"), undefined, "text", "é"],
    ["as the server says", latin, "ISO-8859-1", "text", "é"],
    ["as the page says", meta("windows-1252"), undefined, "html", "é"],
    ["as the server says, whatever the page says", Buffer.from('<meta charset="latin1">é'), "utf-8", "html", "é"],
    ["UTF-8 for a name nobody knows", Buffer.from("é"), "klingon", "text", "é"],
    ["UTF-8 for a text that looks like a page", meta("windows-1252"), undefined, "text", "\ufffd"],
    ["without its byte order mark", Buffer.from("\ufeffé"), undefined, "text", "é"],
  ];
  for (const [why, body, charset, kind, end] of decoded)
    it(`reads bytes ${why}`, () => assert.equal(decodeText(body, charset, kind).replace(/^<meta[^>]*>/, ""), end));

  it("takes tags and entities out of snippets, and leaves what only looks like them", () => {
    assert.equal(
      plainText("<strong>a</strong> &amp; &#39;b&#x27; &lt;i&gt; 1 < 2 &unknown; &#9999999;"),
      "a & 'b' <i> 1 < 2 &unknown; &#9999999;",
    );
  });
});

describe("reading a page in a thread", () => {
  const question: PageQuestion = { html: "<p>hi</p>", url: "https://example.com/", mode: "text", maxChars: 100 };
  const never = new AbortController().signal;
  const code = (source: string) => () =>
    new Worker(source, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 16 } });

  it("gives its text", async () => {
    const extract = createExtraction({ clock: createFakeClock() });
    assert.deepEqual(await extract(question, never), { text: "hi", extractor: "page", truncated: false });
  });

  it("ends with its time, and makes room for the next", async () => {
    const clock = createFakeClock();
    const started: string[] = [];
    const startThread = ({ html }: PageQuestion) => {
      started.push(html);
      return code(html)();
    };
    const extract = createExtraction({ clock, limitMs: 5_000, threads: 1, startThread });
    const stuck = extract({ ...question, html: "for (;;);" }, never);
    const next = extract(
      { ...question, html: "require('worker_threads').parentPort.postMessage({ page: 'done' })" },
      never,
    );
    const late = assert.rejects(stuck, { code: "UNAVAILABLE", message: /within 5 s/ });
    assert.deepEqual(started, ["for (;;);"]);
    await clock.advance(5_000);
    await late;
    assert.equal(await next, "done");
  });

  it("gives what it has by then", async () => {
    const clock = createFakeClock();
    const say = "require('worker_threads').parentPort.postMessage({ page: 'half' });";
    let worker: Worker | undefined;
    const startThread = () => (worker = code(`${say} for (;;);`)());
    const reading = createExtraction({ clock, limitMs: 5_000, startThread })(question, never);
    await new Promise((resolve) => worker?.once("message", resolve));
    await clock.advance(5_000);
    assert.equal(await reading, "half");
  });

  it("ends with its run, also while it waits", async () => {
    const run = new AbortController();
    const extract = createExtraction({ clock: createFakeClock(), threads: 1, startThread: code("for (;;);") });
    const both = [extract(question, run.signal), extract(question, run.signal)];
    run.abort(new Error("the run was stopped"));
    for (const one of both) await assert.rejects(one, /the run was stopped/);
  });

  const broken: [why: string, source: string, message: RegExp][] = [
    ["breaks", "throw new Error('no such tag')", /could not be read: no such tag/],
    ["says nothing", "0", /could not be read/],
    ["takes too much memory", "const a = []; for (;;) a.push(new Array(1e5).fill(a.length))", /too much memory/],
  ];
  for (const [why, source, message] of broken)
    it(`gets an error when the thread ${why}`, async () => {
      const extract = createExtraction({ clock: createFakeClock(), startThread: code(source) });
      await assert.rejects(extract(question, never), { code: "UNAVAILABLE", message });
    });
});

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { createFakeClock } from "@svc/sdk/testing";
import type { PdfContent, PdfJob } from "../../../plugins/media/pdf-job.ts";
import { createPdfReader, type PdfReaderOptions } from "../../../plugins/media/pdf-reader.ts";
import { blanks, LOCKED, pdf, says, square } from "./pdf-files.ts";

/** A job that is done; each case changes one thing. */
const job = (bytes: Uint8Array, changes: Partial<PdfJob> = {}): PdfJob => ({
  bytes,
  maxPages: 4,
  maxChars: 10_000,
  maxPixels: 4_000_000,
  minTextChars: 0,
  ...changes,
});

function open(t: TestContext, options: Partial<PdfReaderOptions> = {}) {
  const clock = createFakeClock();
  const reader = createPdfReader({ clock, ...options });
  t.after(() => reader.close());
  return { reader, clock };
}

/** What the process runs instead of the real thing, after it has said that it is ready. */
async function program(t: TestContext, code: string, before = 'process.send({ kind: "ready" });') {
  const directory = await mkdtemp(join(tmpdir(), "svc-media-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = pathToFileURL(join(directory, "program.mjs"));
  await writeFile(file, `${before}\nprocess.once("message", async (job) => { ${code} });`);
  return file;
}
const NEVER = "for (;;);";

/** A compiled file of the plugin, as an import names it. */
const own = (name: string) => JSON.stringify(String(new URL(`../../../plugins/media/${name}`, import.meta.url)));

const told = ({ texts }: PdfContent) => texts.map(({ page, text }) => `${page}: ${text}`);

/** Width and height of a PNG, and the colour type of its header. */
function sizeOf(png: Uint8Array | undefined) {
  const view = Buffer.from(png ?? []);
  assert.equal(view.subarray(1, 4).toString(), "PNG");
  return [view.readUInt32BE(16), view.readUInt32BE(20)];
}

describe("reading PDFs", { timeout: 60_000 }, () => {
  const readable: [what: string, bytes: Buffer, changes: Partial<PdfJob>, texts: string[], isCut: boolean][] = [
    ["a page", pdf([says("Hello")]), {}, ["1: Hello"], false],
    ["the first pages of many", pdf(Array(1000).fill(says("x"))), { maxPages: 2 }, ["1: x", "2: x"], true],
    [
      "the pages asked for",
      pdf(["a", "b", "c"].map(says)),
      {
        ranges: [
          [3, 9],
          [1, 1],
        ],
      },
      ["3: c", "1: a"],
      false,
    ],
    ["as much text as is asked for", pdf(["abc", "def"].map(says)), { maxChars: 4 }, ["1: abc", "2: d"], true],
    ["one whose table of contents lies", pdf([says("found")], { offBy: 7 }), {}, ["1: found"], false],
    ["a page without text", pdf([square]), {}, ["1: "], false],
  ];
  for (const [what, bytes, changes, texts, isCut] of readable) {
    it(`reads ${what}`, async (t) => {
      const { reader } = open(t);
      const content = await reader.read(job(bytes, changes));
      assert.deepEqual([told(content), content.isCut, content.pictures], [texts, isCut, []]);
    });
  }

  it("draws pages with too little text, within their share of pixels", async (t) => {
    const { reader } = open(t);
    const content = await reader.read(
      job(pdf([square, says("hi")], { size: [400, 300] }), { minTextChars: 10, maxPixels: 30_000 }),
    );
    assert.deepEqual(
      content.pictures.map(({ page, png }) => [page, ...sizeOf(png)]),
      [
        [1, 200, 150],
        [2, 200, 150],
      ],
    );
    assert.deepEqual(told(content), ["1: ", "2: hi"]);
  });

  it("never draws larger than the page is", async (t) => {
    const { reader } = open(t);
    const { pictures } = await reader.read(job(pdf([square]), { minTextChars: 1 }));
    assert.deepEqual(sizeOf(pictures[0]?.png), [200, 200]);
  });

  it("leaves a page out that is a million points wide and high", async (t) => {
    const { reader } = open(t);
    const content = await reader.read(job(pdf([says("h")], { size: [1e6, 1e6] }), { minTextChars: 10 }));
    assert.deepEqual([told(content), content.pictures, content.isCut], [["1: h"], [], true]);
  });

  const refused: [what: string, bytes: Buffer, changes: Partial<PdfJob>, message: RegExp][] = [
    ["garbage", Buffer.from("%PDF-1.4\nnothing of the kind"), {}, /damaged, or no PDF at all/],
    ["one with a password", pdf([says("x")], { trailer: LOCKED }), {}, /protected by a password/],
    ["pages that are not there", pdf([says("x")]), { ranges: [[2, 3]] }, /has 1 pages and none of those asked for/],
  ];
  for (const [what, bytes, changes, message] of refused) {
    it(`refuses ${what}`, async (t) => {
      const { reader } = open(t);
      await assert.rejects(reader.read(job(bytes, changes)), { code: "INVALID_REQUEST", message });
    });
  }

  it("ends a process that takes longer than it may", async (t) => {
    const { reader, clock } = open(t, { program: await program(t, NEVER), timeLimitMs: 5_000 });
    const read = reader.read(job(pdf([])));
    await Promise.all([
      assert.rejects(read, { code: "INVALID_REQUEST", message: /not read within 5 seconds/ }),
      clock.advance(5_000),
    ]);
    assert.equal(clock.pending, 0);
  });

  const limits: [what: string, limits: object, code: string][] = [
    ["hoards", { maxBytes: 200e6, maxAge: 60_000 }, "for (const all = []; ; ) all.push(Buffer.alloc(1e6, 1));"],
    [
      "allocates too much at once",
      { maxBytes: 200e6, maxAge: 60_000 },
      "globalThis.all = new Array(30_000_000).fill(1.5); for (;;);",
    ],
    ["never comes back, though nobody waits", { maxBytes: 1e12, maxAge: 1 }, NEVER],
  ];
  for (const [what, given, code] of limits) {
    it(`is told of a process that ${what} and therefore ended itself`, async (t) => {
      const watched = `import { startWatchdog } from ${own("watchdog.js")}; await startWatchdog(${JSON.stringify(given)}); ${code}`;
      const { reader } = open(t, { program: await program(t, "", `process.send({ kind: "ready" });\n${watched}`) });
      await assert.rejects(reader.read(job(pdf([]))), { code: "INVALID_REQUEST", message: /too much memory/ });
    });
  }

  it("reads a page of blanks that are deflated a thousandfold", async (t) => {
    const { reader } = open(t);
    assert.deepEqual(told(await reader.read(job(pdf([blanks(1)])))), ["1: "]);
  });

  it("has nothing in its process that inflates natively, and nothing that fetches", async (t) => {
    const code = `
      const { prepareRealm } = await import(${own("realm.js")});
      prepareRealm();
      const moved = new Uint8Array(new Uint8Array([1, 2, 3]).buffer.transferToFixedLength(2));
      process.send({ kind: "refused", message: [typeof DecompressionStream, typeof fetch, ...moved].join(" ") });`;
    const { reader } = open(t, { program: await program(t, code) });
    await assert.rejects(reader.read(job(pdf([]))), { message: "undefined undefined 1 2" });
  });

  it("hands no environment to its process", async (t) => {
    const code = 'process.send({ kind: "refused", message: Object.keys(process.env).join() || "none" });';
    const { reader } = open(t, { program: await program(t, code) });
    await assert.rejects(reader.read(job(pdf([]))), { message: /^(NODE_CHANNEL_\w+,?)*$|^none$/ });
  });

  it("stops with its signal, before and while it reads", async (t) => {
    const { reader, clock } = open(t, { program: await program(t, NEVER) });
    await assert.rejects(reader.read(job(pdf([])), AbortSignal.abort(new Error("early"))), { message: "early" });
    const stopping = new AbortController();
    const read = reader.read(job(pdf([])), stopping.signal);
    setImmediate(() => stopping.abort(new Error("enough")));
    await assert.rejects(read, { message: "enough" });
    assert.equal(clock.pending, 0);
  });

  const deaths: [what: string, code: string, before: string | undefined, expected: object][] = [
    ["a document that breaks its reader", 'throw new Error("x");', undefined, { code: "INVALID_REQUEST" }],
    ["a process that goes without a word", "process.exit();", undefined, { code: "INVALID_REQUEST" }],
    ["a fault in a native library", 'process.kill(process.pid, "SIGSEGV");', undefined, { code: "INVALID_REQUEST" }],
    [
      "a process that cannot start",
      "",
      'import "no-such-package";',
      { name: "Error", message: /did not start: .*code 1/ },
    ],
  ];
  for (const [what, code, before, expected] of deaths) {
    it(`tells of ${what}`, async (t) => {
      const { reader } = open(t, { program: await program(t, code, before) });
      await assert.rejects(reader.read(job(pdf([]))), expected);
    });
  }

  it("ends what is under way and what waits when it is closed", async (t) => {
    const { reader } = open(t, { program: await program(t, NEVER) });
    const reads = [1, 2, 3].map(() => assert.rejects(reader.read(job(pdf([]))), { code: "UNAVAILABLE" }));
    await reader.close();
    await Promise.all(reads);
    await reader.close();
  });

  it("gives the caller's bytes back as they were", async (t) => {
    const { reader } = open(t);
    const bytes = pdf([says("kept")]);
    const copy = Buffer.from(bytes);
    await reader.read(job(bytes));
    assert.deepEqual(bytes, copy);
  });
});

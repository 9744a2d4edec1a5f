import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { createFakeClock } from "@svc/sdk/testing";
import { createPdfReader, type PdfReaderOptions } from "../../../plugins/media/documents/pdf-reader.ts";
import { job, pdf, says, square } from "./pdf-files.ts";

function open(t: TestContext, options: Partial<PdfReaderOptions> = {}) {
  const clock = createFakeClock();
  const reader = createPdfReader({ clock, ...options });
  t.after(() => reader.close());
  return { reader, clock };
}

/** A program that replaces the PDF reader after it has reported `ready`. */
async function program(t: TestContext, code: string, before = 'process.send({ kind: "ready" });') {
  const directory = await mkdtemp(join(tmpdir(), "svc-media-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = pathToFileURL(join(directory, "program.mjs"));
  await writeFile(file, `${before}\nprocess.once("message", async (job) => { ${code} });`);
  return file;
}
const NEVER = "for (;;);";

/** Import path of a compiled file of the plugin. */
const own = (name: string) =>
  JSON.stringify(String(new URL(`../../../plugins/media/documents/${name}`, import.meta.url)));

describe("the process that reads a PDF", { timeout: 120_000 }, () => {
  it("reads text, and draws pages with too little of it", async (t) => {
    const { reader } = open(t);
    const [read, drawn] = await Promise.all([
      reader.read(job(pdf([says("Hello")]))),
      reader.read(job(pdf([square]), { minTextChars: 1 })),
    ]);
    assert.deepEqual(read.texts, [{ page: 1, text: "Hello" }]);
    assert.deepEqual([...(drawn.pictures[0]?.png.subarray(1, 4) ?? [])], [...Buffer.from("PNG")]);
  });

  it("refuses what its process cannot read", async (t) => {
    const { reader } = open(t);
    const garbage = Buffer.from("%PDF-1.4\nnothing of the kind");
    await assert.rejects(reader.read(job(garbage)), { code: "INVALID_REQUEST", message: /damaged, or not a PDF/ });
  });

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
    it(`gets an error from a process that ${what} and therefore ended itself`, async (t) => {
      const watched = `import { startWatchdog } from ${own("watchdog.js")}; await startWatchdog(${JSON.stringify(given)}); ${code}`;
      const { reader } = open(t, { program: await program(t, "", `process.send({ kind: "ready" });\n${watched}`) });
      await assert.rejects(reader.read(job(pdf([]))), { code: "INVALID_REQUEST", message: /lack of memory/ });
    });
  }

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
    it(`reports ${what}`, async (t) => {
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
});

// own process: the PDF library replaces globals, and with them `fetch`
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { PdfContent, PdfJob } from "../../../plugins/media/documents/pdf-job.ts";
import { readPdf, reasonOf } from "../../../plugins/media/documents/read-pdf.ts";
import { prepareRealm } from "../../../plugins/media/documents/realm.ts";
import { blanks, job, LOCKED, pdf, says, square } from "./pdf-files.ts";

const read = async (wanted: PdfJob) => readPdf(wanted, { unpdf: await import("unpdf") });

const told = ({ texts }: PdfContent) => texts.map(({ page, text }) => `${page}: ${text}`);

/** Width and height of a PNG, and the colour type of its header. */
function sizeOf(png: Uint8Array | undefined) {
  const view = Buffer.from(png ?? []);
  assert.equal(view.subarray(1, 4).toString(), "PNG");
  return [view.readUInt32BE(16), view.readUInt32BE(20)];
}

describe("reading PDFs", { timeout: 120_000 }, () => {
  before(prepareRealm);

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
    it(`reads ${what}`, async () => {
      const content = await read(job(bytes, changes));
      assert.deepEqual([told(content), content.isCut, content.pictures], [texts, isCut, []]);
    });
  }

  it("draws pages with too little text, within their share of pixels", async () => {
    const content = await read(
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

  it("makes do with the text where there is nothing to draw with", async () => {
    const easel = { unpdf: await import("unpdf"), load: async () => undefined };
    const content = await readPdf(job(pdf([says("little")]), { minTextChars: 100 }), easel);
    assert.deepEqual([told(content), content.pictures, content.isCut], [["1: little"], [], false]);
  });

  it("never draws larger than the page is", async () => {
    const { pictures } = await read(job(pdf([square]), { minTextChars: 1 }));
    assert.deepEqual(sizeOf(pictures[0]?.png), [200, 200]);
  });

  it("leaves a page out that is a million points wide and high", async () => {
    const content = await read(job(pdf([says("h")], { size: [1e6, 1e6] }), { minTextChars: 10 }));
    assert.deepEqual([told(content), content.pictures, content.isCut], [["1: h"], [], true]);
  });

  const refused: [what: string, bytes: Buffer, changes: Partial<PdfJob>, message: RegExp][] = [
    ["garbage", Buffer.from("%PDF-1.4\nnothing of the kind"), {}, /damaged, or not a PDF/],
    ["one with a password", pdf([says("x")], { trailer: LOCKED }), {}, /protected by a password/],
    ["pages that are not there", pdf([says("x")]), { ranges: [[2, 3]] }, /has 1 pages, none of them requested/],
  ];
  for (const [what, bytes, changes, message] of refused) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(read(job(bytes, changes)), (error) => message.test(reasonOf(error)));
    });
  }

  it("reads a page of blanks that are deflated a thousandfold", async () => {
    assert.deepEqual(told(await read(job(pdf([blanks(1)])))), ["1: "]);
  });

  it("leaves the caller's bytes as they are", async () => {
    const bytes = pdf([says("kept")]);
    const copy = Buffer.from(bytes);
    await read(job(bytes));
    assert.deepEqual(bytes, copy);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { createDocuments } from "../../../plugins/media/documents/documents.ts";
import { imageSizeOf } from "../../../plugins/media/documents/image-size.ts";
import { choosePages, parsePages, scaleOf } from "../../../plugins/media/documents/pages.ts";
import type { PdfContent, PdfJob } from "../../../plugins/media/documents/pdf-job.ts";
import { gif, jpeg, png, webpExtended, webpLossless, webpLossy } from "./image-files.ts";

const limits = { maxChars: 100, pdf: { maxPages: 4, maxPixels: 4_000_000, minTextChars: 200 } };

/** Documents with a scripted PDF reader. */
function open(content: Partial<PdfContent> = {}) {
  const jobs: PdfJob[] = [];
  const read = async (job: PdfJob): Promise<PdfContent> => {
    jobs.push(job);
    return { pageCount: 1, texts: [], pictures: [], isCut: false, ...content };
  };
  return { documents: createDocuments({ read }), jobs };
}

const bytesOf = (text: string, encoding: BufferEncoding = "utf8") => Buffer.from(text, encoding);

describe("documents of text", () => {
  const texts: [what: string, bytes: Buffer, charset: string | undefined, text: string][] = [
    ["UTF-8 where nothing is declared", bytesOf("Grüße"), undefined, "Grüße"],
    ["UTF-8 with a byte order mark", bytesOf("\ufeffGrüße"), undefined, "Grüße"],
    ["latin1 as declared", bytesOf("Grüße", "latin1"), "ISO-8859-1", "Grüße"],
    ["UTF-16 as declared", bytesOf("Grüße", "utf16le"), "utf-16le", "Grüße"],
    ["UTF-16 as it says itself", bytesOf("\ufeffGrüße", "utf16le"), undefined, "Grüße"],
    ["UTF-8 where nobody knows what is declared", bytesOf("Grüße"), "x-klingon", "Grüße"],
    ["HTML as it is", bytesOf("<p>a &amp; b</p><script>x</script>"), undefined, "<p>a &amp; b</p><script>x</script>"],
    ["an empty file", bytesOf(""), undefined, ""],
  ];
  for (const [what, bytes, charset, text] of texts) {
    it(`are ${what}`, async () => {
      const file = { bytes, mimeType: "text/plain", ...(charset === undefined ? {} : { charset }) };
      assert.deepEqual(await open().documents.read(file, limits), { text, images: [], isCut: false });
    });
  }

  it("are cut off between two characters", async () => {
    const { documents } = open();
    const file = { bytes: bytesOf("abc😀def"), mimeType: "text/plain" };
    const cut = async (maxChars: number) => documents.read(file, { ...limits, maxChars });
    assert.deepEqual(await cut(4), { text: "abc", images: [], isCut: true });
    assert.deepEqual(await cut(5), { text: "abc😀", images: [], isCut: true });
    assert.equal((await cut(8)).isCut, false);
  });

  const refused: [what: string, bytes: Buffer, message: RegExp][] = [
    ["with NUL characters", bytesOf("a\0b"), /binary.*NUL/],
    ["that are pictures", png(1, 1), /an image of type png/],
    ["that are PDFs", bytesOf("%PDF-1.4"), /a PDF document/],
    ["that are archives", bytesOf("PK\x03\x04 and so on"), /a ZIP archive or an office document/],
    ["of noise", Buffer.from(Array.from({ length: 300 }, (_value, index) => 128 + (index % 100))), /not declared/],
  ];
  for (const [what, bytes, message] of refused) {
    it(`are refused ${what}`, () =>
      assert.rejects(open().documents.read({ bytes, mimeType: "text/plain" }, limits), {
        code: "INVALID_REQUEST",
        message,
      }));
  }
});

describe("documents that are PDFs", () => {
  const bytes = bytesOf("%PDF-1.4");
  const file = { bytes, mimeType: "application/pdf" };

  it("are the texts of their pages and pictures of them", async () => {
    const { documents, jobs } = open({
      texts: [
        { page: 1, text: "one\n" },
        { page: 2, text: " " },
        { page: 3, text: "three" },
      ],
      pictures: [{ page: 1, png: Buffer.from("png") }],
      isCut: true,
    });
    assert.deepEqual(await documents.read(file, limits), {
      text: "one\n\nthree",
      images: [{ type: "image", data: "cG5n", mimeType: "image/png" }],
      isCut: true,
    });
    assert.deepEqual(jobs, [{ bytes, maxChars: 100, maxPages: 4, maxPixels: 4_000_000, minTextChars: 200 }]);
  });

  it("start no process without a PDF header, or after an abort", async () => {
    const { documents, jobs } = open();
    const garbage = { ...file, bytes: bytesOf("<html>") };
    await assert.rejects(documents.read(garbage, limits), { code: "INVALID_REQUEST", message: /no PDF/ });
    await assert.rejects(documents.read(file, limits, AbortSignal.abort(new Error("gone"))), { message: "gone" });
    assert.deepEqual(jobs, []);
  });
});

describe("pictures", () => {
  const kinds: [name: string, make: (width: number, height: number) => Buffer, mimeType: string][] = [
    ["png", png, "image/png"],
    ["jpeg", jpeg, "image/jpeg"],
    ["gif", gif, "image/gif"],
    ["extended webp", webpExtended, "image/webp"],
    ["lossy webp", webpLossy, "image/webp"],
    ["lossless webp", webpLossless, "image/webp"],
  ];
  for (const [name, make, mimeType] of kinds) {
    it(`are taken as ${name} by their bytes, up to a number of pixels`, async () => {
      const { documents } = open();
      const bytes = make(300, 20);
      const data = bytes.toString("base64");
      assert.deepEqual(await documents.image(bytes, { maxPixels: 6_000 }), { type: "image", data, mimeType });
      const refusal = { code: "INVALID_REQUEST", message: /300 x 20 pixels; at most 5999/ };
      await assert.rejects(documents.image(bytes, { maxPixels: 5_999 }), refusal);
      await assert.rejects(documents.image(bytes.subarray(0, 8)), /damaged|not a png/);
    });
  }

  it("of a hundred million pixels are taken, of one more are not", async () => {
    const { documents } = open();
    await documents.image(png(10_000, 10_000));
    await assert.rejects(documents.image(png(100_000_001, 1)), { code: "INVALID_REQUEST" });
    await assert.rejects(documents.image(png(0xffffffff, 0xffffffff)), { code: "INVALID_REQUEST" });
  });

  const refused: [what: string, bytes: Buffer, message: RegExp][] = [
    ["nothing", Buffer.alloc(0), /not a png, jpeg, gif or webp image/],
    ["SVG", bytesOf("<svg xmlns='http://www.w3.org/2000/svg'/>"), /not a png, jpeg, gif or webp image/],
    ["one without width", png(0, 10), /damaged/],
    ["a JPEG that goes in circles", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0]), /damaged/],
  ];
  for (const [what, bytes, message] of refused) {
    it(`are not ${what}`, () => assert.rejects(open().documents.image(bytes), { code: "INVALID_REQUEST", message }));
  }

  it("have a size or none, whatever the bytes", () => {
    const heads = [png(1, 1), jpeg(1, 1), gif(1, 1), webpLossy(1, 1), webpExtended(1, 1)].map((head) =>
      head.subarray(0, 16),
    );
    const types = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    const tail = fc.uint8Array({ maxLength: 64 });
    fc.assert(
      fc.property(fc.constantFrom(...heads), fc.constantFrom(...types), tail, (head, type, rest) => {
        const size = imageSizeOf(Buffer.concat([head, rest]), type);
        assert.ok(size === undefined || (size.width > 0 && size.height > 0));
      }),
    );
  });
});

describe("pages", () => {
  it("are written as numbers and ranges", () => {
    assert.deepEqual(parsePages("1-3, 5"), [
      [1, 3],
      [5, 5],
    ]);
    for (const text of ["", "0", "3-1", "a", "1-", "1;2", "99999999", Array(101).fill("1").join(",")])
      assert.throws(() => parsePages(text), { code: "INVALID_REQUEST" }, text);
  });

  const choices: [ranges: [number, number][] | undefined, pageCount: number, pages: number[], isCut: boolean][] = [
    [undefined, 2, [1, 2], false],
    [undefined, 9, [1, 2, 3], true],
    [[[2, 9_999_999]], 4, [2, 3, 4], false],
    [
      [
        [5, 6],
        [1, 1],
        [5, 5],
      ],
      6,
      [5, 6, 1],
      false,
    ],
    [[[7, 8]], 6, [], false],
  ];
  for (const [ranges, pageCount, pages, isCut] of choices) {
    it(`${JSON.stringify(ranges ?? "all")} of ${pageCount} are ${pages.join(", ") || "none"}`, () =>
      assert.deepEqual(choosePages(ranges, { pageCount, maxPages: 3 }), { pages, isCut }));
  }

  const scales: [width: number, height: number, scale: number | undefined][] = [
    [1000, 1000, 1],
    [4000, 4000, 0.5],
    [20_000, 20_000, 0.1],
    [20_001, 20_000, undefined],
    [0, 100, undefined],
    [Infinity, 1, undefined],
    [Number.NaN, 1, undefined],
  ];
  for (const [width, height, scale] of scales) {
    it(`of ${width} x ${height} points are drawn at ${scale ?? "no scale"}`, () =>
      assert.equal(scaleOf(width, height, 4_000_000), scale));
  }
});

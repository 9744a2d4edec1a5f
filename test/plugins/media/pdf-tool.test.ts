import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toolContract } from "@svc/sdk/testing";
import type { PdfContent } from "../../../plugins/media/documents/pdf-job.ts";
import { pdfTool } from "../../../plugins/media/tools/pdf-tool.ts";
import { openScene, READS, SEES, type SceneOptions, shown, use } from "./scene.ts";

const BYTES = Buffer.from("%PDF-1.4");
const SCAN: Partial<PdfContent> = { texts: [{ page: 1, text: "" }], pictures: [{ page: 1, png: Buffer.from("png") }] };
const LETTER: Partial<PdfContent> = { ...SCAN, texts: [{ page: 1, text: "Dear all" }] };
const TEXT: Partial<PdfContent> = { texts: [{ page: 1, text: "Dear all" }] };

describe("the tool pdf", () => {
  it("keeps the contract of a tool", async (t) => {
    const { mediaServices, put } = await openScene(t, { pdf: () => TEXT });
    await put("a.pdf", BYTES);
    await toolContract(t, {
      tool: pdfTool(mediaServices),
      name: "pdf",
      samples: [{ prompt: "What is this?", pdf: "a.pdf", pages: "1-3,5" }],
      invalid: [{ prompt: "x", pdfs: [] }],
    });
  });

  it("shows the text as data from outside, page by page, to any model", async (t) => {
    const { mediaServices, put, asked, jobs } = await openScene(t, {
      models: [READS],
      pdf: () => ({ pageCount: 9, texts: [2, 3].map((page) => ({ page, text: `text of ${page}\n` })), isCut: true }),
    });
    await put("a.pdf", BYTES);
    const result = await use(pdfTool(mediaServices), { prompt: "Who?", pdf: "a.pdf", pages: "2-9" });
    assert.deepEqual(jobs[0]?.ranges, [[2, 9]]);
    const [head, text, prompt, ...more] = shown(asked[0]);
    assert.deepEqual([head, prompt, more], ["Document: a.pdf; incomplete: it has 9 pages", "Who?", []]);
    assert.match(String(text), /^SECURITY: [\s\S]*From: a.pdf\n---\n\[page 2\]\ntext of 2\n\n\[page 3\]\ntext of 3\n/);
    const { documents } = result.details as { documents: unknown };
    assert.deepEqual(documents, [{ source: "a.pdf", pageCount: 9, pages: [2, 3], pictures: 0, isCut: true }]);
  });

  it("shows pages as pictures to a model that sees", async (t) => {
    const { mediaServices, put, asked } = await openScene(t, { models: [READS, SEES], pdf: () => SCAN });
    await put("scan.pdf", BYTES);
    await use(pdfTool(mediaServices), { prompt: "?", pdf: "scan.pdf" });
    assert.equal(asked[0]?.model.id, "sees");
    assert.deepEqual(shown(asked[0]).slice(-3), ["Picture of page 1:", "image/png", "?"]);
  });

  it("makes do with the little text there is where no model sees", async (t) => {
    const { mediaServices, put, asked } = await openScene(t, { models: [READS], pdf: () => LETTER });
    await put("letter.pdf", BYTES);
    await use(pdfTool(mediaServices), { prompt: "?", pdf: "letter.pdf" });
    assert.ok(!shown(asked[0]).includes("image/png"));
    assert.match(shown(asked[0]).join("\n"), /Dear all/);
  });

  it("shares pages and characters out among the documents of a call", async (t) => {
    const config = { maxChars: 12, pdf: { maxPages: 3, maxPixels: 5, minTextChars: 0 } };
    const { mediaServices, put, asked, jobs } = await openScene(t, { config, pdf: () => TEXT });
    for (const name of ["a.pdf", "b.pdf", "c.pdf"]) await put(name, BYTES);
    await use(pdfTool(mediaServices), { prompt: "?", pdfs: ["a.pdf", "b.pdf", "c.pdf"] });
    const left = jobs.map(({ maxPages, maxChars, maxPixels, minTextChars }) => [
      maxPages,
      maxChars,
      maxPixels,
      minTextChars,
    ]);
    assert.deepEqual(left, [
      [3, 12, 5, 0],
      [2, 4, 5, 0],
    ]);
    assert.ok(shown(asked[0]).includes("Document: c.pdf; incomplete: there was no room left"));
  });

  const refused: [what: string, args: object, options: SceneOptions, code: string, message: RegExp][] = [
    ["nothing to read", {}, {}, "INVALID_REQUEST", /pdf or pdfs is required/],
    ["what is no PDF", { pdf: "a.txt" }, {}, "INVALID_REQUEST", /^a\.txt: the file is not a PDF/],
    [
      "pages that are none",
      { pdf: "a.pdf", pages: "two" },
      {},
      "INVALID_REQUEST",
      /"two" is neither a page nor a range/,
    ],
    [
      "a document that says and shows nothing",
      { pdf: "a.pdf" },
      { pdf: () => ({ texts: [{ page: 1, text: " " }] }) },
      "INVALID_REQUEST",
      /no text, and could not be drawn/,
    ],
    [
      "a scan where no model sees",
      { pdf: "a.pdf" },
      { models: [READS], pdf: () => SCAN },
      "UNAVAILABLE",
      /no configured model accepts images; add a model .*models\.providers/,
    ],
  ];
  for (const [what, args, options, code, message] of refused) {
    it(`refuses ${what}`, async (t) => {
      const { mediaServices, put, asked } = await openScene(t, { pdf: () => TEXT, ...options });
      await put("a.pdf", BYTES);
      await put("a.txt", Buffer.from("plain"));
      await assert.rejects(use(pdfTool(mediaServices), { prompt: "?", ...args }), { code, message });
      assert.deepEqual(asked, []);
    });
  }
});

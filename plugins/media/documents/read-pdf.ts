/** Reads one PDF: its text, and pictures of its pages if there is too little text. Runs only in the process that reads the PDF. */
import { invalidRequest, isGatewayError } from "@svc/sdk/errors";
import { cutText } from "./cut.ts";
import { choosePages } from "./pages.ts";
import type { PdfDocument } from "./pdf-library.ts";
import type { PageText, PdfContent, PdfJob } from "./pdf-job.ts";
import { CanvasFactory, drawPages, type Easel, MAX_CANVAS_PIXELS } from "./draw.ts";

/** @throws GatewayError `INVALID_REQUEST` if none of the pages exists or can be read; errors of the library */
export async function readPdf(job: PdfJob, easel: Easel): Promise<PdfContent> {
  const document = await easel.unpdf.getDocumentProxy(new Uint8Array(job.bytes), {
    verbosity: 0,
    disableFontFace: true, // fonts of a page cannot be loaded here: glyphs are drawn as paths
    useWasm: false, // its decoders are not installed
    maxImageSize: MAX_CANVAS_PIXELS,
    CanvasFactory,
  });
  const pageCount = document.numPages;
  const { pages, isCut } = choosePages(job.ranges, { pageCount, maxPages: job.maxPages });
  if (pages.length === 0) invalidRequest(`the PDF has ${pageCount} pages, none of them requested; request other pages`);

  const found = await readTexts(document, pages, job.maxChars);
  const chars = found.texts.reduce((sum, { text }) => sum + text.trim().length, 0);
  if (chars >= job.minTextChars) return { pageCount, texts: found.texts, pictures: [], isCut: isCut || found.isCut };

  const drawn = await drawPages(document, pages, job.maxPixels, easel);
  return { pageCount, texts: found.texts, pictures: drawn.pictures, isCut: isCut || found.isCut || drawn.isCut };
}

interface Texts {
  readonly texts: readonly PageText[];
  readonly isCut: boolean;
}

/** Reads page after page until there is enough text. An unreadable page counts as cut, unless all pages are unreadable. */
async function readTexts(document: PdfDocument, pages: readonly number[], maxChars: number): Promise<Texts> {
  const texts: PageText[] = [];
  let left = maxChars;
  let isCut = false;
  let failure: unknown;
  let failures = 0;
  for (const page of pages) {
    try {
      const whole = await textOf(document, page);
      const part = cutText(whole, left);
      left -= part.text.length;
      isCut ||= part.isCut;
      texts.push({ page, text: part.text });
    } catch (error) {
      failure = error;
      failures += 1;
    }
  }
  if (failures === pages.length) throw failure;
  return { texts, isCut: isCut || failures > 0 };
}

async function textOf(document: PdfDocument, number: number): Promise<string> {
  const page = await document.getPage(number);
  const { items } = await page.getTextContent();
  page.cleanup();
  return items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
}

const REASONS: Readonly<Record<string, string>> = {
  PasswordException: "the PDF is protected by a password; send one without",
  InvalidPDFException: "the PDF is damaged, or not a PDF; send another copy",
};

/** Why a PDF could not be read. Every other error of the library is attributed to the document. */
export function reasonOf(thrown: unknown): string {
  if (isGatewayError(thrown)) return thrown.message;
  const name = thrown instanceof Error ? thrown.name : "";
  return REASONS[name] ?? "the PDF cannot be read: its content is invalid; send another copy";
}

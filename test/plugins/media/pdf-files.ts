/** Small PDFs, written by hand. */
import { deflateSync } from "node:zlib";
import type { PdfJob } from "../../../plugins/media/documents/pdf-job.ts";

export interface PdfOptions {
  /** Size in points. Default 200 x 200. */
  readonly size?: readonly [width: number, height: number];
  /** Additional entries of the trailer. */
  readonly trailer?: string;
  /** Added to each offset of the cross-reference table, to make it invalid. */
  readonly offBy?: number;
}

/** A PDF with one page per content stream; a stream given as bytes is already deflated. */
export function pdf(
  pages: readonly (string | Buffer)[],
  { size = [200, 200], trailer = "", offBy = 0 }: PdfOptions = {},
) {
  const kids = pages.map((_page, index) => `${4 + 2 * index} 0 R`).join(" ");
  const box = `[0 0 ${size.join(" ")}]`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${kids}] >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((page, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox ${box} /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R >>`,
      stream(page),
    ]),
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((body, index) => {
    const offset = text.length + offBy;
    text += `${index + 1} 0 obj\n${body}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join("")}`;
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text + table + end, "latin1");
}

function stream(content: string | Buffer): string {
  const filter = typeof content === "string" ? "" : "/Filter /FlateDecode ";
  return `<< ${filter}/Length ${content.length} >>\nstream\n${content.toString("latin1")}\nendstream`;
}

/** Content of a page with text. */
export const says = (text: string) => `BT /F1 12 Tf 10 100 Td (${text}) Tj ET`;
/** Content of a page without text, with a red square at the lower left. */
export const square = "1 0 0 rg 0 0 50 50 re f";
/** Content of a page with `megabytes` of blanks, deflated. */
export const blanks = (megabytes: number) => deflateSync(Buffer.alloc(megabytes * 1024 * 1024, " "));
/** Trailer of a PDF with a password. */
export const LOCKED = `/Encrypt << /Filter /Standard /V 1 /R 2 /O (${"a".repeat(32)}) /U (${"b".repeat(32)}) /P -4 >> /ID [(a) (a)]`;

/** A valid job; each case changes one field. */
export const job = (bytes: Uint8Array, changes: Partial<PdfJob> = {}): PdfJob => ({
  bytes,
  maxPages: 4,
  maxChars: 10_000,
  maxPixels: 4_000_000,
  minTextChars: 0,
  ...changes,
});

/** Decides which pages of a document are read, and at what size pages are drawn. Pure. */
import { invalidRequest } from "@svc/sdk/errors"; // the process that reads a PDF loads this file, too
import type { PageRange } from "./pdf-job.ts";

/** Choice: maximum number of ranges in one list. */
const MAX_RANGES = 100;
const RANGE = /^(\d{1,7})(?:-(\d{1,7}))?$/;

/** @param text e.g. `1-3,5`. @throws GatewayError `INVALID_REQUEST` for an invalid list */
export function parsePages(text: string): readonly PageRange[] {
  const parts = text.split(",");
  if (parts.length > MAX_RANGES) invalidRequest(`pages: more than ${MAX_RANGES} ranges; ask for fewer`);
  return parts.map((part) => {
    const [, first = "", last = first] = RANGE.exec(part.trim()) ?? [];
    const range = [Number(first), Number(last)] as const;
    if (first === "" || range[0] < 1 || range[1] < range[0])
      invalidRequest(`pages: "${part.trim().slice(0, 40)}" is neither a page nor a range; write e.g. 1-3,5`);
    return range;
  });
}

/** Pages to read, in the requested order. */
export interface PageChoice {
  readonly pages: readonly number[];
  /** More pages were requested than are read. */
  readonly isCut: boolean;
}

/** The existing pages of `ranges` (default: all pages), each once, at most `maxPages`. */
export function choosePages(
  ranges: readonly PageRange[] | undefined,
  { pageCount, maxPages }: { readonly pageCount: number; readonly maxPages: number },
): PageChoice {
  const pages = new Set<number>();
  for (const [first, last] of ranges ?? [[1, pageCount]]) {
    for (let page = first; page <= Math.min(last, pageCount); page += 1) {
      if (pages.has(page)) continue;
      if (pages.size >= maxPages) return { pages: [...pages], isCut: true };
      pages.add(page);
    }
  }
  return { pages: [...pages], isCut: false };
}

/** Spec: http/responses.md §4. */
const MIN_SCALE = 0.1;

/**
 * The scale at which a page has at most `maxPixels`, never above 1.
 * @returns `undefined` for a page without area, and for a page too large even at scale 0.1. Choice: both are not drawn
 */
export function scaleOf(width: number, height: number, maxPixels: number): number | undefined {
  const area = width * height;
  if (!Number.isFinite(area) || area < 1) return undefined;
  const scale = Math.min(1, Math.sqrt(maxPixels / area));
  return scale < MIN_SCALE ? undefined : scale;
}

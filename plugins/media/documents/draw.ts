/** Draws pages of a PDF. Runs only in the process that reads the PDF. */
import type { Canvas, SKRSContext2D } from "@napi-rs/canvas";
import { scaleOf } from "./pages.ts";
import type { PagePicture } from "./pdf-job.ts";
import type { PdfDocument, PdfLibrary } from "./pdf-library.ts";

const importCanvases = () => import("@napi-rs/canvas");
type Canvases = Awaited<ReturnType<typeof importCanvases>>;

/** Choice: maximum pixels of a picture inside a page, and of any drawing surface; they take 200 MB. */
export const MAX_CANVAS_PIXELS = 50_000_000;

/** Loaded on first use. */
let canvases: Canvases | undefined;

interface Surface {
  canvas: Canvas | undefined;
  context: SKRSContext2D | undefined;
}

/** Drawing surfaces for the PDF library. A class, because the library calls `new`. */
export class CanvasFactory {
  create(width: number, height: number): Surface {
    if (!canvases) throw new Error("the drawing library is not loaded");
    requireSize(width, height);
    const canvas = canvases.createCanvas(width, height);
    return { canvas, context: canvas.getContext("2d") };
  }

  reset({ canvas }: Surface, width: number, height: number): void {
    requireSize(width, height);
    if (!canvas) return;
    canvas.width = width;
    canvas.height = height;
  }

  /** Releases the memory at once. */
  destroy(surface: Surface): void {
    if (surface.canvas) surface.canvas.width = surface.canvas.height = 0;
    surface.canvas = undefined;
    surface.context = undefined;
  }
}

function requireSize(width: number, height: number): void {
  if (!(width * height <= MAX_CANVAS_PIXELS)) throw new Error(`a surface of ${width} x ${height} is too large`);
}

interface Drawn {
  readonly pictures: readonly PagePicture[];
  readonly isCut: boolean;
}

/** Libraries for drawing. */
export interface Easel {
  readonly unpdf: PdfLibrary;
  /** Default: loads the drawing library; `undefined` if it does not run. */
  readonly load?: () => Promise<Canvases | undefined>;
}

/** PNGs of the pages. Pages that cannot be drawn are left out; without the drawing library, the list is empty. */
export async function drawPages(
  document: PdfDocument,
  pages: readonly number[],
  maxPixels: number,
  { unpdf, load = loadCanvases }: Easel,
): Promise<Drawn> {
  const loaded = await load();
  if (!loaded) return { pictures: [], isCut: false };
  canvases = loaded;
  await unpdf.createIsomorphicCanvasFactory(async () => loaded); // installs the drawing library in the PDF library
  const pictures: PagePicture[] = [];
  for (const page of pages) {
    const png = await drawPage(document, page, maxPixels).catch(() => undefined);
    if (png) pictures.push({ page, png });
  }
  return { pictures, isCut: pictures.length < pages.length };
}

async function loadCanvases(): Promise<Canvases | undefined> {
  try {
    return await importCanvases();
  } catch {
    return undefined; // Spec: http/responses.md §4: then only the text is used
  }
}

async function drawPage(document: PdfDocument, number: number, maxPixels: number): Promise<Uint8Array | undefined> {
  const page = await document.getPage(number);
  const { width, height } = page.getViewport({ scale: 1 });
  const scale = scaleOf(width, height, maxPixels);
  if (scale === undefined) return undefined;
  const viewport = page.getViewport({ scale });
  const factory = new CanvasFactory();
  const surface = factory.create(Math.max(1, Math.floor(viewport.width)), Math.max(1, Math.floor(viewport.height)));
  const { canvas, context } = surface;
  if (!canvas || !context) return undefined;
  try {
    // The drawing library has the members of a browser canvas that are used, but its own types.
    const target = { canvas, canvasContext: context } as unknown as { canvas: null };
    await page.render({ ...target, viewport }).promise;
    return canvas.toBuffer("image/png");
  } finally {
    factory.destroy(surface);
    page.cleanup();
  }
}

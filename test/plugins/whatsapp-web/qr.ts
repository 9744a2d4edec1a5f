/** Reads a QR code as a camera does: from the blocks of a terminal, or from the image of the panel. */
import jsQr from "jsqr";

/** Pixels of a square of the code, and squares around the code. */
const SQUARE = 6;
const BORDER = 4;

type Squares = readonly (readonly boolean[])[];

/** @param drawn lines of a terminal, among others; or a data URL of an SVG image */
export function readQr(drawn: string): string {
  const squares = drawn.startsWith("data:") ? ofImage(drawn) : ofTerminal(drawn);
  const size = (squares.length + 2 * BORDER) * SQUARE;
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255);
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const isDark = squares[Math.floor(y / SQUARE) - BORDER]?.[Math.floor(x / SQUARE) - BORDER] === true;
      if (isDark) pixels.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  const found = (jsQr as unknown as typeof jsQr.default)(pixels, size, size); // CommonJS, whose types name a default export
  if (!found) throw new Error(`no camera reads this code:\n${drawn}`);
  return found.data;
}

/** A character has two squares, one above the other; light squares are drawn. */
function ofTerminal(drawn: string): Squares {
  const lines = drawn.split(/\r?\n/).filter((line) => /^[█▀▄ ]{20,}$/.test(line));
  return lines.flatMap((line) => [" ▄", " ▀"].map((dark) => line.split("").map((one) => dark.includes(one))));
}

function ofImage(url: string): Squares {
  const svg = Buffer.from(url.slice(url.indexOf(",") + 1), "base64").toString();
  const size = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1]) / 10;
  const squares = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  for (const [, x, y] of svg.matchAll(/M(\d+),(\d+)h10v10h-10z/g)) {
    const row = squares[Number(y) / 10];
    if (row) row[Number(x) / 10] = true;
  }
  return squares;
}

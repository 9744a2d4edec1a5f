/** Reads the width and height of a picture from its header: a decoder would allocate memory for that size. Pure. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** @param mimeType result of `sniffImage`. @returns `undefined` if the header is damaged or has a size of 0 */
export function imageSizeOf(bytes: Uint8Array, mimeType: string): ImageSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = READERS[mimeType]?.(view);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // the header ends too early
    throw error;
  }
}

const READERS: Readonly<Record<string, (view: DataView) => ImageSize | undefined>> = {
  "image/png": pngSize,
  "image/jpeg": jpegSize,
  "image/gif": (view) => ({ width: view.getUint16(6, true), height: view.getUint16(8, true) }),
  "image/webp": webpSize,
};

function tagAt(view: DataView, offset: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(offset + index)));
}

function pngSize(view: DataView): ImageSize | undefined {
  if (tagAt(view, 12) !== "IHDR") return undefined;
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** SOF0 to SOF15 except DHT, JPG and DAC, whose markers are in the same range. */
const isFrameHeader = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** TEM and RST0 to SOI have no length field. */
const isBare = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Reads the segments up to the one with the size. Each segment has at least its two length bytes, so the loop ends. */
function jpegSize(view: DataView): ImageSize | undefined {
  let at = 2;
  for (;;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (isFrameHeader(marker)) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    if (marker === 0xd9 || marker === 0xda) return undefined; // start of the image data, or end of the image
    const isFill = marker === 0xff;
    if (isFill) at += 1;
    else if (isBare(marker)) at += 2;
    else {
      const length = view.getUint16(at + 2);
      if (length < 2) return undefined;
      at += 2 + length;
    }
  }
}

function webpSize(view: DataView): ImageSize | undefined {
  const kind = tagAt(view, 12);
  if (kind === "VP8X") return { width: uint24(view, 24) + 1, height: uint24(view, 27) + 1 };
  if (kind === "VP8 ") return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (kind !== "VP8L" || view.getUint8(20) !== 0x2f) return undefined;
  const bits = view.getUint32(21, true);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

const uint24 = (view: DataView, offset: number) => view.getUint16(offset, true) + view.getUint8(offset + 2) * 0x10000;

/** Heads of pictures: just enough bytes for type and size. */

const u16 = (value: number) => [value >> 8, value & 0xff];
const u16le = (value: number) => [value & 0xff, value >> 8];
const u24le = (value: number) => [...u16le(value & 0xffff), value >> 16];
const ascii = (text: string) => [...Buffer.from(text, "latin1")];
const u32 = (value: number) => [...u16(Math.floor(value / 0x10000)), ...u16(value % 0x10000)];

export const png = (width: number, height: number) =>
  Buffer.from([...ascii("\x89PNG\r\n\x1a\n"), ...u32(13), ...ascii("IHDR"), ...u32(width), ...u32(height), 8, 6]);

export const gif = (width: number, height: number) =>
  Buffer.from([...ascii("GIF89a"), ...u16le(width), ...u16le(height)]);

/** With a comment, a fill byte and a table before the frame, as in files of cameras. */
export const jpeg = (width: number, height: number) =>
  Buffer.from([0xff, 0xd8, 0xff, 0xfe, ...u16(4), 0, 0, 0xff, 0xff, 0xc4, ...u16(3), 0, ...frame(width, height)]);
const frame = (width: number, height: number) => [0xff, 0xc2, ...u16(17), 8, ...u16(height), ...u16(width)];

const webp = (kind: string, rest: readonly number[]) =>
  Buffer.from([...ascii("RIFF"), ...u32(0), ...ascii("WEBP"), ...ascii(kind), ...u32(0), ...rest]);
export const webpExtended = (width: number, height: number) =>
  webp("VP8X", [0, 0, 0, 0, ...u24le(width - 1), ...u24le(height - 1)]);
export const webpLossy = (width: number, height: number) =>
  webp("VP8 ", [0, 0, 0, 0x9d, 0x01, 0x2a, ...u16le(width), ...u16le(height)]);
export function webpLossless(width: number, height: number): Buffer {
  const bits = (width - 1) | ((height - 1) << 14);
  return webp("VP8L", [0x2f, bits & 0xff, (bits >> 8) & 0xff, (bits >> 16) & 0xff, (bits >> 24) & 0xff]);
}

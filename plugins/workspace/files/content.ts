/** Detects the kind of a file by its bytes. Pure. */

/** The type of a picture that models accept, by its first bytes. */
export function imageTypeOf(bytes: Buffer): string | undefined {
  const starts = (magic: string, at = 0) => bytes.subarray(at, at + magic.length / 2).toString("hex") === magic;
  if (starts("89504e470d0a1a0a")) return "image/png";
  if (starts("ffd8ff")) return "image/jpeg";
  if (starts("474946383761") || starts("474946383961")) return "image/gif";
  return starts("52494646") && starts("57454250", 8) ? "image/webp" : undefined;
}

/** Decodes UTF-8, preserving a byte order mark. @param isCut the last character may be incomplete @returns `undefined`: not text */
export function textOfBytes(bytes: Buffer, isCut = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** Detects the kind of a file by its bytes. Pure. */

/** Decodes UTF-8, preserving a byte order mark. @param isCut the last character may be incomplete @returns `undefined`: not text */
export function textOfBytes(bytes: Buffer, isCut = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

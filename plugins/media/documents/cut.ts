/** Cuts texts. Pure; without imports, so that the process that reads a PDF loads no further code. */

/** A text of at most `maxChars` UTF-16 units; no character is split. */
export function cutText(text: string, maxChars: number): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= maxChars) return { text, isCut: false };
  return { text: text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, ""), isCut: true };
}

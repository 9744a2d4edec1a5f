/** The page for every address of the client. Pure. */

/**
 * Makes the addresses of its files independent of the address of the page: `./assets/x.js` -> `/panel/assets/x.js`.
 * @param base normalized base path, as written in an address
 */
export function withBase(html: string, base: string): string {
  return html.replace(
    /(\s(?:src|href)\s*=\s*)(["'])\.\//gi,
    (_, start: string, quote: string) => `${start}${quote}${escaped(base)}/`,
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}

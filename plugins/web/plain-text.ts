/** Converts snippets to plain text. Pure. */

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
/** Maximum characters that are read: a snippet has a few hundred. */
const MAX_CHARS = 2_000;

/** Removes tags and entities from a piece of HTML, e.g. a snippet of a search engine. */
export function plainText(html: string): string {
  return html
    .slice(0, MAX_CHARS)
    .replace(/<\/?[a-z][^<>]*>/gi, "")
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
      if (typeof name === "string") return NAMED[name.toLowerCase()] ?? whole;
      const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
    });
}

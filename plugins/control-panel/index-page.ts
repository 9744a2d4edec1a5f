/** The page for every address of the client. Pure. */
import { createHash } from "node:crypto";

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

/** SHA-256, in base64, of each script that is written in the page. */
export function scriptHashes(html: string): string[] {
  const scripts = html.matchAll(/<script\b((?:[^>"']|"[^"]*"|'[^']*')*)>(.*?)<\/script\s*>/gis);
  const inline = [...scripts].filter(([, attributes = ""]) => !/\ssrc\s*=/i.test(attributes));
  return inline.map(([, , text = ""]) => createHash("sha256").update(text).digest("base64"));
}

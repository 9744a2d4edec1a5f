/** Determines the kind of a response body, and decodes its text. Pure. */

/** How to read a body; `undefined`: it is not text. */
export type PageKind = "html" | "text" | undefined;

const TEXT_TYPES = [
  "application/json",
  "application/ld+json",
  "application/xml",
  "application/javascript",
  "application/ecmascript",
  "application/x-ndjson",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
];

/** @param contentType lower case, without parameters */
export function kindOf(contentType: string): PageKind {
  if (contentType === "text/html" || contentType === "application/xhtml+xml") return "html";
  const isText = contentType.startsWith("text/") || /\+(?:json|xml)$/.test(contentType);
  return isText || TEXT_TYPES.includes(contentType) ? "text" : undefined;
}

/** First bytes in which a page may declare its charset. Spec of HTML: 1024. */
const HEAD_BYTES = 1_024;

/** Decodes with the charset declared by the server, else by the HTML page, else UTF-8; an unknown charset counts as UTF-8. */
export function decodeText(body: Uint8Array, charset: string | undefined, kind: PageKind): string {
  const head = kind === "html" ? new TextDecoder("latin1").decode(body.subarray(0, HEAD_BYTES)) : "";
  const own = /<meta[^>]{1,200}charset\s{0,9}=\s{0,9}["']?\s{0,9}([a-z0-9_:.-]{1,40})/i.exec(head)?.[1];
  const label = charset ?? own ?? "utf-8";
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}

/** Finds the text between the markers of external content. */
import assert from "node:assert/strict";

const MARKED =
  /<<<EXTERNAL_UNTRUSTED_CONTENT id="([0-9a-f]{16})">>>\n([\s\S]*)\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="\1">>>/;

export interface Marked {
  /** Lines about the content: source, address, title. */
  readonly about: readonly string[];
  readonly inside: string;
  /** All text outside of the markers. */
  readonly outside: string;
}

/** Fails if `text` has no such part. */
export function markedPart(text: string): Marked {
  const match = MARKED.exec(text);
  assert.ok(match, `not marked as from outside: ${text}`);
  const [whole, , content = ""] = match;
  const [about = "", ...rest] = content.split("\n---\n");
  return { about: about.split("\n"), inside: rest.join("\n---\n"), outside: text.replace(whole, "") };
}

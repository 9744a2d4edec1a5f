/** What is asked about a chunk. Pure. */
import { createHash } from "node:crypto";

/** A chunk as far as its meaning goes: where its file lies is no part of it. */
export interface ChunkText {
  readonly heading: string;
  readonly text: string;
}

/** Its headings stand before it, or a part of a section would not say what it is about. */
export function embeddingText({ heading, text }: ChunkText): string {
  return heading === "" ? text : `${heading}\n${text}`;
}

/** The same for the same text. */
export function digestOf(chunk: ChunkText): string {
  return createHash("sha256").update(embeddingText(chunk)).digest("base64url");
}

/** The text of a file as the system prompt has it: data from outside, behind the name of its file. Pure. Spec: http/responses.md §4. */
import { externalLine, type ExternalSource, wrapExternalContent } from "@svc/sdk/external-content";
import type { ReadDocument } from "@svc/sdk/media";

/** Choice: longer names are cut off. */
const MAX_NAME_CHARS = 200;

/** A name for the attribute: one line that cannot end it. Default `file`. */
export function fileName(name: string | undefined): string {
  const line = externalLine(name ?? "", MAX_NAME_CHARS).replace(/["&]/g, "_");
  return line === "" ? "file" : line;
}

/** @param name as `fileName` gives it */
export function fileBlock(name: string, { text, images, isCut }: ReadDocument, source: ExternalSource): string {
  const lines = [
    `<file name="${name}">`,
    ...(images.length > 0
      ? [`[${images.length} pages of it, as pictures]`]
      : [wrapExternalContent(plain(text), { source })]),
    ...(isCut ? ["[the rest of it was cut off]"] : []),
    "</file>",
  ];
  return lines.join("\n");
}

/** Without a tag that could seem to end this file or to begin another one. */
function plain(text: string): string {
  return text.replace(/<(?=\s*\/?\s*file\b)/gi, "&lt;");
}

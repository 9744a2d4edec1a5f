/** The text of a file for the system prompt: external content under its file name. Pure. Spec: http/responses.md §4. */
import { externalLine, type ExternalSource, wrapExternalContent } from "@svc/sdk/external-content";
import type { ReadDocument } from "@svc/sdk/media";

/** Choice: longer names are cut. */
const MAX_NAME_CHARS = 200;

/** A safe attribute value: one line that cannot close the attribute. Default `file`. */
export function fileName(name: string | undefined): string {
  const line = externalLine(name ?? "", MAX_NAME_CHARS).replace(/["&]/g, "_");
  return line === "" ? "file" : line;
}

/** @param name a result of `fileName` */
export function fileBlock(name: string, { text, images, isCut }: ReadDocument, source: ExternalSource): string {
  const lines = [
    `<file name="${name}">`,
    ...(images.length > 0
      ? [`[${images.length} of its pages as pictures]`]
      : [wrapExternalContent(plain(text), { source })]),
    ...(isCut ? ["[the rest was cut]"] : []),
    "</file>",
  ];
  return lines.join("\n");
}

/** Escapes tags that could close this file or open another one. */
function plain(text: string): string {
  return text.replace(/<(?=\s*\/?\s*file\b)/gi, "&lt;");
}

import type { MediaKind } from "@svc/sdk/channels";

/** Kind of a file of this MIME type. */
export function mediaKindOf(mimeType: string): MediaKind {
  const [family] = mimeType.toLowerCase().split("/", 1);
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}

/** Media types of files by the extension of their name. Pure. */
import { extname } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".htm": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".map": "application/json",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".xml": "application/xml",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".avif": "image/avif",
  ".ico": "image/x-icon",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
  ".ttf": "font/ttf",
  ".otf": "font/otf",
  ".mp3": "audio/mpeg",
  ".ogg": "audio/ogg",
  ".wav": "audio/wav",
  ".mp4": "video/mp4",
  ".webm": "video/webm",
  ".wasm": "application/wasm",
  ".pdf": "application/pdf",
};
const TEXT = /^text\/|^application\/(?:.+\+)?(?:jsonl?|xml)$/;

/** `Content-Type` of a file by its name; texts are UTF-8. An unknown extension is `application/octet-stream`. */
export function contentTypeOf(name: string): string {
  const type = TYPES[extname(name).toLowerCase()] ?? "application/octet-stream";
  return TEXT.test(type) ? `${type}; charset=utf-8` : type;
}

/** Images and documents in a request, formats of sound files, and media types: `@svc/kit/media`. */
export * from "./attachments.ts";
export * from "./request-media.ts";
export * from "./sound.ts";
export * from "./types.ts";

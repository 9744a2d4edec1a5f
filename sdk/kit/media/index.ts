/** Images and documents in a request, and formats of sound files: `@svc/kit/media`. */
export * from "./attachments.ts";
export * from "./request-media.ts";
export * from "./sound.ts";

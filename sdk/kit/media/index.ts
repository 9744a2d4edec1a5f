/** Images and documents in a request: `@svc/kit/media`. */
export * from "./attachments.ts";
export * from "./request-media.ts";

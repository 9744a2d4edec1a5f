/** `@svc/sdk/files`: files that several processes write, whole or not at all. Not for browsers. */
export * from "./lock.ts";
export * from "./private.ts";
export * from "./whole.ts";
export * from "./rooted.ts";
export * from "./rooted-write.ts";

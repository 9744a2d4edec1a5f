/** `@svc/sdk/files`: files that several processes write, whole or not at all. Not for browsers. */
export * from "./inside.ts";
export * from "./lock.ts";
export * from "./whole.ts";

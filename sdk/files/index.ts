/** `@svc/sdk/files`: files that several processes write, whole or not at all, and which paths may be used. Not for browsers. */
export * from "./inside.ts";
export * from "./lock.ts";
export * from "./transform-path.ts";
export * from "./whole.ts";

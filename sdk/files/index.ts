/** `@svc/sdk/files`: files that several processes write, whole or not at all, which paths may be used, and code that is imported on first use. Not for browsers. */
export { lazy } from "../lazy.ts";
export * from "./inside.ts";
export * from "./lock.ts";
export * from "./origins.ts";
export * from "./transform-path.ts";
export * from "./watch.ts";
export * from "./whole.ts";

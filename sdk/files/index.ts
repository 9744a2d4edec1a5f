/**
 * `@svc/sdk/files`: atomic writes of shared files, locks, checks of allowed paths, and lazy imports. Not for browsers.
 */
export { lazy } from "../lazy.ts";
export * from "./inside.ts";
export * from "./lock.ts";
export * from "./origins.ts";
export * from "./shared.ts";
export * from "./transform-path.ts";
export * from "./watch.ts";
export * from "./whole.ts";

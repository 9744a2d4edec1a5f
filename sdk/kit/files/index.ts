/** Files below a root that a path cannot leave, and private files: `@svc/kit/files`. */
export * from "./agent-place.ts";
export * from "./base-hash.ts";
export * from "./disk-refusal.ts";
export * from "./folded-path.ts";
export * from "./private.ts";
export * from "./rooted.ts";
export { hasCode } from "./rooted-steps.ts";
export * from "./rooted-write.ts";

/** The gateway as a whole: restarts, credentials, facts, approval questions: `@svc/sdk/gateway`. */
export * from "./approver.ts";
export * from "./backplane.ts";
export * from "./event-loop.ts";
export * from "./peers.ts";
export * from "./restart-notes.ts";
export * from "./service.ts";
export * from "./shared-config.ts";

/** Heartbeats and system events: `@svc/sdk/heartbeat`. */
export * from "./contract.ts";
export * from "./service.ts";
export * from "./system-events.ts";

/** Durable tables: `@svc/sdk/storage`. */
export * from "./contract.ts";
export * from "./dialect.ts";
export * from "./ownership.ts";
export * from "./retention.ts";
export * from "./service.ts";

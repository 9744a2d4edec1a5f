/** Durable tables: `@svc/sdk/storage`. */
export * from "./service.ts";

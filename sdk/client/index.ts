/** Typed client of the gateway: `@svc/sdk/client`. */
export * from "./client.ts";

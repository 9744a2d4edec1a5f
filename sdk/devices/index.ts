/** Paired devices: `@svc/sdk/devices`. */
export * from "./contract.ts";
export * from "./service.ts";

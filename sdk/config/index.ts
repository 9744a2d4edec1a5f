/** The configuration: `@svc/sdk/config`. */
export * from "./contract.ts";
export * from "./service.ts";

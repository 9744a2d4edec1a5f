/** Records that move between products: `@svc/sdk/import`. */
export * from "./contract.ts";
export * from "./records.ts";
export * from "./service.ts";

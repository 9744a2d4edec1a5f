/** Search in what agents keep: `@svc/sdk/memory`. */
export * from "./contract.ts";
export * from "./settings.ts";
